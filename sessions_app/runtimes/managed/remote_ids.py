"""The agent, environment and session at the runtime that stand for those here: made once, found again after a crash."""

from __future__ import annotations

from sessions_app.models import Agent, Session
from sessions_app.services import agents
from sessions_app.services.policies import gate
from sessions_app.services.turns import in_flight

from .. import Failed
from ..run import TurnRun
from .client import Conflict, Json, NotFound, Port
from .definition import agent_of, environment_of

OURS = "countersign_session"
LATEST = 100
"""Sessions of an agent among which one is looked for that was made without our hearing of it."""


class Gone(Failed):
    """The session at the runtime takes nothing any more, and asks nothing."""


def session_of(turn: TurnRun, port: Port) -> Json:
    """The session at the runtime, as it says it is. Raises ``Gone``, and ``Failed`` when it is another's."""
    if not turn.session.runtime_id:
        _keep(turn, _found(turn, port) or _created(turn, port))
    try:
        remote = port.session(turn.session.runtime_id)
    except NotFound as gone:
        raise Gone(
            f"the runtime has no session {turn.session.runtime_id} for this key ({gone}): it was deleted, or belongs "
            "to another workspace. Continue this one as a new session."
        ) from None
    owner = (remote.get("metadata") or {}).get(OURS)
    if owner != str(turn.session_id):
        raise Failed(f"session {turn.session.runtime_id} at the runtime belongs to {owner or 'nobody here'}")
    return remote


def _found(turn: TurnRun, port: Port) -> str:
    """The session that a worker made and did not live to note."""
    agent_id = turn.agent.runtime_ref.get("agent")
    if not turn.state.get("creating") or not agent_id:
        return ""
    for number, told in enumerate(port.sessions(agent_id)):
        if (told.get("metadata") or {}).get(OURS) == str(turn.session_id):
            return str(told["id"])
        if number >= LATEST:
            break
    return ""


def _created(turn: TurnRun, port: Port, *, again: bool = False) -> str:
    agent_id, version = _agent(turn, port)
    environment = _environment(turn.agent, port)
    turn.save_state(creating=True)
    try:
        made = port.create_session(
            agent={"type": "agent", "id": agent_id, "version": version},
            environment_id=environment,
            vault_ids=list(turn.agent.environment.get("vault_ids") or ()),
            title=(turn.session.title or turn.agent.name)[:200],
            metadata={OURS: str(turn.session_id), "countersign_workspace": str(turn.session.workspace_id)},
        )
    except NotFound:
        if again:
            raise
        agents.forget_runtime_ref(turn.agent)  # made with a key of another workspace: this one needs its own
        return _created(turn, port, again=True)
    return str(made["id"])


def _keep(turn: TurnRun, runtime_id: str) -> None:
    with in_flight.owned(turn.flight):
        Session.objects.filter(pk=turn.session_id).update(runtime_id=runtime_id)
    turn.session.runtime_id = runtime_id


def _agent(turn: TurnRun, port: Port) -> tuple[str, int]:
    """Id and version there of the version that the session runs under, made if it is not there yet."""
    governed = gate.is_governed(turn.agent)
    known, version = turn.agent.runtime_ref, str(turn.agent.version)
    key = f"{version} governed" if governed else version
    if number := known.get("versions", {}).get(key):
        return known["agent"], number
    metadata = {"countersign_agent": str(turn.agent.pk), "countersign_version": version}
    body = agent_of(turn, metadata, governed=governed)
    try:
        made = port.update_agent(known["agent"], body) if "agent" in known else port.create_agent(body)
    except NotFound:
        agents.forget_runtime_ref(turn.agent)
        made = port.create_agent(body)
    agents.note_runtime_ref(turn.agent, {"agent": made["id"], "versions": {key: made["version"]}})
    return made["id"], made["version"]


def _environment(agent: Agent, port: Port) -> str:
    """The environment with this config: one that the definition names, or one for all agents whose config is alike."""
    if stated := agent.environment.get("id"):
        return str(stated)
    name, config = environment_of(agent.environment)
    if found := agent.runtime_ref.get("environments", {}).get(name):
        return found
    try:
        made = port.create_environment(name, config)
    except Conflict:
        made = next(told for told in port.environments() if told.get("name") == name)
    agents.note_runtime_ref(agent, {"environments": {name: made["id"]}})
    return made["id"]
