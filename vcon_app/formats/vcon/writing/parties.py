"""The parties of a written vCon: those of the file as they were, and one for each actor that is new."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ....drafts import ActorKind, EventDraft, Json, SessionDraft
from ...common.values import dict_of, text_or_none
from ..trace import identify_parties, provider_family


@dataclass(slots=True)
class Actors:
    """The actors of events that no party of a file stands for yet, in order of appearance."""

    people: dict[tuple[str, str], None] = field(default_factory=dict)
    agents: dict[str, str | None] = field(default_factory=dict)
    """Name and first model of agents."""
    subagents: dict[str, str | None] = field(default_factory=dict)

    def note(self, event: EventDraft) -> None:
        if event.kind == "user_message" and event.depth == 0 and event.actor_kind in ("person", "trigger"):
            self.people[(event.actor_kind, event.actor_name)] = None
        elif event.actor_kind == "agent" and event.depth == 0:
            self.agents[event.actor_name] = self.agents.get(event.actor_name) or event.model
        elif event.actor_kind == "subagent" and event.actor_name:
            self.subagents[event.actor_name] = self.subagents.get(event.actor_name) or event.model


def parties_of(session: SessionDraft, record: dict[str, Any], actors: Actors, traced: bool) -> list[dict[str, Json]]:
    """All parties. Of a file none moves, because others point at them by index (core s4.2)."""
    raws, kinds = record.get("parties") or [], record.get("kinds") or []
    parties = [_completed(raw, kind, session, traced) for raw, kind in zip(raws, kinds, strict=True)]
    known = {party.actor for party in identify_parties(parties, ["agent_session"], traced, []).all}
    parties += [_person(kind, name) for kind, name in actors.people if ("person", name) not in known]
    agents = _without_known(actors.agents, "agent", known)
    subagents = _without_known(actors.subagents, "subagent", known)
    if not record:  # no file names an agent yet, and a trace has one also when no event of its own tells of one
        agents = agents or ({session.agent_name: session.model} if traced else {})
        parties += _main_agent(agents, session, bool(subagents))
        agents = dict(list(agents.items())[1:])
    parties += [_agent(name, model, session, False, {}) for name, model in agents.items()]
    for number, (name, model) in enumerate(subagents.items(), 1):
        parties.append(_agent(name, model, session, False, {"agent_id": f"sub-{number}", "parent_agent_id": "main"}))
    return parties


def _main_agent(agents: dict[str, str | None], session: SessionDraft, has_subagents: bool) -> list[dict[str, Json]]:
    """The first agent, whom people talk to: it has the model of the session, and the id that sub-agents refer to."""
    ids: dict[str, Json] = {"agent_id": "main"} if has_subagents else {}
    return [_agent(name, session.model or model, session, True, ids) for name, model in list(agents.items())[:1]]


def _without_known(found: dict[str, str | None], kind: str, known: set[tuple[ActorKind, str]]) -> dict[str, str | None]:
    """The actors for which no party of the file stands: name and model."""
    return {name: model for name, model in found.items() if (kind, name) not in known}


def _person(kind: str, name: str) -> dict[str, Json]:
    """A trigger (a schedule, a webhook) is no person, and no bot that could be taken for the agent."""
    party: dict[str, Json] = {"name": name} if name else {}
    if kind != "person":
        return {**party, "validation": "system", "meta": {"party_type": kind}}
    return {**party, "type": "person", "validation": "none"} if name else {"type": "person"}


def _agent(name: str, model: str | None, session: SessionDraft, primary: bool, ids: dict[str, Json]) -> dict[str, Json]:
    """A party with role agent (agent_session s4); an unknown model is said to be unknown (rule R31)."""
    provider = _provider(model, session)
    recorder = dict_of(session.metadata.get("recorder"))
    details: dict[str, Json] = {"model_id": model or "unknown", "provider": provider or "unknown"}
    if text_or_none(recorder.get("name")):
        details["recording_agent"] = "/".join(filter(None, (recorder["name"], text_or_none(recorder.get("version")))))
    if primary and (environment := vcs_environment(session)):
        details["environment"] = environment
    party: dict[str, Json] = {"name": name or session.agent_name or model or "agent", "type": "bot"}
    if provider:
        party["org"] = provider
    return {**party, "role": "agent", "validation": "system", "meta": {"agent_session": {**details, **ids}}}


def _provider(model: str | None, session: SessionDraft) -> str | None:
    return text_or_none(session.metadata.get("provider")) or provider_family(None, model, None)


def vcs_environment(session: SessionDraft) -> dict[str, Json]:
    """``cwd``, ``vcs_branch``, ``vcs_commit`` (agent_session s4), as far as the session knows them."""
    known = dict_of(session.metadata.get("environment"))
    pairs = (
        ("cwd", known.get("cwd")),
        ("vcs_branch", known.get("branch") or known.get("git_branch")),
        ("vcs_commit", known.get("commit") or known.get("git_commit")),
    )
    return {name: value for name, value in pairs if text_or_none(value)}


def _completed(raw: dict[str, Json], kind: str, session: SessionDraft, traced: bool) -> dict[str, Json]:
    """A party of a file with what the drafts require and it lacks; an empty placeholder stays empty."""
    if not raw or kind in ("unknown", "organization", "tool"):
        return raw
    if kind == "person":
        return raw if "type" in raw else {**raw, "type": "person"}
    if not traced:
        return raw
    meta = dict_of(raw.get("meta"))
    agent_session = dict_of(meta.get("agent_session"))
    model = (
        text_or_none(agent_session.get("model_id"))
        or text_or_none(meta.get("model"))
        or (session.model if kind == "agent" else None)
    )
    needed = {
        "model_id": model or "unknown",
        "provider": text_or_none(agent_session.get("provider")) or _provider(model, session) or "unknown",
    }
    if raw.get("type") == "bot" and raw.get("role") == "agent" and agent_session.keys() >= needed.keys():
        return raw
    return {**raw, "type": "bot", "role": "agent", "meta": {**meta, "agent_session": {**agent_session, **needed}}}
