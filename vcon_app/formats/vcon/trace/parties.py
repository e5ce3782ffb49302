"""Who is who: which party of a vCon is a person, an AI agent, a sub-agent or a tool, and why we say so."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ....drafts import ActorKind, Json
from ...common.values import dict_of, text_of, text_or_none
from ..file import Notes, shown
from .names import in_our_spelling

PartyKind = Literal["person", "agent", "subagent", "tool", "organization", "unknown"]
MACHINE_PARTY_TYPES: dict[str, PartyKind] = {
    "ai_agent": "agent",
    "llm": "agent",
    "mcp_server": "tool",
    "automated_system": "agent",
}
"""``meta.party_type`` of the mcp_session draft (s7.4)."""
SESSIONS = frozenset({"agent_session", "agent-session", "agentSession"})
"""Names of the member of ``meta`` in which an agent speaks of itself."""
IDENTIFIERS = ("mailto", "tel", "sip", "did", "uuid", "id")
ACTORS: dict[str, ActorKind] = {
    "person": "person",
    "agent": "agent",
    "subagent": "subagent",
    "tool": "tool",
    "organization": "person",
    "unknown": "person",
}


@dataclass(slots=True)
class Party:
    """One party with what the file claims about it; ``why`` is the evidence for its kind."""

    index: int
    name: str
    kind: PartyKind
    why: str
    model: str | None = None
    provider: str | None = None
    agent_id: str | None = None
    parent_agent_id: str | None = None
    raw: dict[str, Any] = field(default_factory=dict)
    _facts: dict[str, Json] | None = None

    @property
    def facts(self) -> dict[str, Json]:
        """What the party of an agent says of it, see ``agent_facts``: asked for four times in each file."""
        if self._facts is None:
            self._facts = agent_facts(self.raw)
        return self._facts

    @property
    def is_ai(self) -> bool:
        return self.kind in ("agent", "subagent")

    @property
    def actor(self) -> tuple[ActorKind, str]:
        """Kind and name as events carry them."""
        return ACTORS[self.kind], self.name

    def summary(self) -> dict[str, Json]:
        """The small form shown with the session."""
        raw = self.raw
        values = {
            "name": self.name,
            "kind": self.kind,
            "why": self.why,
            "role": text_or_none(raw.get("role")),
            "model": self.model,
            "provider": self.provider,
            "agent_id": self.agent_id,
            "parent_agent_id": self.parent_agent_id,
            "validation": text_or_none(raw.get("validation")),
            "synthetic": self.index < 0 or None,
        }
        told = {key: value for key, value in values.items() if value}
        return told | {key: raw[key] for key in IDENTIFIERS if key in raw and text_or_none(raw[key])}


class Parties:
    """All parties of a vCon, with an agent made up (and marked) when a trace has none (rule R78)."""

    def __init__(self, parties: list[Party]) -> None:
        self.all = parties
        self.agent_of_trace: Party | None = None
        self._choose()

    def _choose(self) -> None:
        """Set whom people talk to and who they are; done when a kind changes, since every entry asks for them."""
        self.agent = self.first("agent") or self.agent_of_trace or self.first("subagent")
        """The agent people talk to: the first that is nobody's sub-agent."""
        self.human = self.first("person") or self.first("unknown", "organization")
        """The first person, or whoever is not known to be a machine (never an empty placeholder before a person)."""
        agent: tuple[ActorKind, str] = ("agent", self.agent.name if self.agent else "")
        self.voices: dict[str, tuple[ActorKind, str]] = {
            **dict.fromkeys(("assistant", "reasoning", "tool-call"), agent),
            "user": ("person", self.human.name if self.human else ""),
            "system-event": ("system", ""),
        }
        """The actors of entries of a trace that are nested in nothing, by their type."""

    def __getitem__(self, index: int) -> Party:
        return self.all[index]

    def __len__(self) -> int:
        return len(self.all)

    def first(self, *kinds: str) -> Party | None:
        for party in self.all:
            if party.kind in kinds:
                return party
        return None

    def reclassify(self, party: Party, kind: PartyKind, why: str) -> None:
        """Change what a party is."""
        party.kind, party.why = kind, why
        self._choose()

    def subagent(self, agent_id: str | None, model: str | None, label: str = "") -> Party | None:
        """The agent meant by an agent id or, where no party has ids, its name; else by its model or label, or the only
        sub-agent there is.
        """
        if agent_id:
            agents = [party for party in self.all if party.is_ai]
            called = [party for party in self.all if party.agent_id == agent_id]
            called = called or [party for party in agents if not party.agent_id and party.name == agent_id]
            return called[0] if called else None
        subs = [party for party in self.all if party.kind == "subagent"]
        if len(subs) == 1:
            return subs[0]
        named = [party for party in subs if label and label.lower() in party.name.lower()]
        same = named or [party for party in subs if model and party.model == model]
        return same[0] if len(same) == 1 else None

    def ensure_agent(self, model: str | None, provider: str | None, name: str, notes: Notes, pointer: str) -> None:
        """A trace without any AI party still has an agent: one is shown, never written to a file."""
        if self.agent is None:
            self.agent_of_trace = Party(
                -1, name or model or "agent", "agent", "named by the trace only", model, provider
            )
            self._choose()
            notes.info(
                "R78",
                pointer,
                f"No party is an AI agent; {shown(self.agent_of_trace.name)} is shown from the trace "
                "alone and is not a party of the file.",
            )


def identify_parties(
    parties: list[dict[str, Any]], extensions: list[str], has_trace: bool, agents: list[dict[str, Any]]
) -> Parties:
    """Classify every party. ``agents`` are those an adapter-shaped trace lists (dialect D3)."""
    listed = {name: agent for agent in agents for name in (text_or_none(agent.get("name")),) if name}
    agentic = "agent_session" in extensions or has_trace
    people = [_party(index, raw, agentic, listed) for index, raw in enumerate(parties)]
    if any(party.why == "meta.agent_session" for party in people):
        for party in people:
            if party.why == "type bot" and party.raw.get("role") != "agent":
                party.kind, party.why = "tool", "bot beside agents that are marked as such"
    return Parties(people)


def _party(index: int, raw: dict[str, Any], agentic: bool, listed: dict[str, dict[str, Any]]) -> Party:
    meta = dict_of(raw.get("meta"))
    kind, why = _kind(raw, meta, not SESSIONS.isdisjoint(meta), agentic, listed)
    party = Party(index, _name(raw), kind, why, raw=raw)
    if kind not in ("agent", "subagent", "tool"):
        return party
    entry = listed.get(text_of(raw.get("name")))
    told = agent_facts(raw, entry) if entry else party.facts
    party.agent_id = text_or_none(told.get("agent-id"))
    party.parent_agent_id = text_or_none(told.get("parent-agent-id"))
    if kind == "agent" and party.parent_agent_id:
        party.kind = "subagent"
    model = told.get("model-id") or told.get("model") or told.get("model-name")
    inner = dict_of(model)  # some write the model as a map, with its provider
    if inner:
        model = inner.get("id") or inner.get("name") or inner.get("model_id")
    party.model = text_or_none(model)
    provider = (*(told.get(name) for name in ("provider", "model-provider", "vendor")), inner.get("provider"))
    party.provider = next(filter(None, map(text_or_none, provider)), None)
    return party


def agent_facts(raw: dict[str, Any], listed: dict[str, Any] | None = None) -> dict[str, Json]:
    """What the party of an agent says of it, under names like ``model-id``: in ``meta.agent_session`` (agent_session
    s4), else in the trace's list of agents, in ``meta``, or beside its name.
    """
    meta = dict_of(raw.get("meta"))
    session = next((dict_of(meta[name]) for name in meta if name in SESSIONS), {})
    told: dict[str, Json] = {}
    for place in filter(None, (raw, meta, listed, session)):
        told |= {in_our_spelling(name): value for name, value in place.items() if value not in (None, "")}
    return told


def _kind(
    raw: dict[str, Any], meta: dict[str, Any], session: bool, agentic: bool, listed: dict[str, Any]
) -> tuple[PartyKind, str]:
    """First evidence that applies; ``role: agent`` alone is a human call-centre agent (CC extension s3.1)."""
    machine = MACHINE_PARTY_TYPES.get(text_of(meta.get("party_type")))
    if session:
        return "agent", "meta.agent_session"
    if machine:
        return machine, f"meta.party_type {meta['party_type']}"
    if raw.get("type") == "bot":
        return "agent", "type bot"
    if text_or_none(raw.get("name")) in listed:
        return "agent", "listed in the trace"
    if raw.get("role") == "agent" and agentic and raw.get("type") != "person":
        return "agent", "role agent beside an agent trace"
    if raw.get("type") == "person" or meta.get("party_type") == "human":
        return "person", "stated"
    if raw.get("type") == "organization":
        return "organization", "stated"
    if text_or_none(meta.get("party_type")):
        return "unknown", f"meta.party_type {shown(meta['party_type'])}"
    return ("person", "not stated to be a machine") if raw else ("unknown", "empty placeholder")


def _name(raw: dict[str, Any]) -> str:
    return text_or_none(raw.get("name")) or next(
        (value for key in IDENTIFIERS if (value := text_or_none(raw.get(key)))), ""
    )
