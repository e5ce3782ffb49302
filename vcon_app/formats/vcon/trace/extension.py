"""Members of our own in trace entries, where VAC has no word for something (its maps are open, VAC s3.8).

They are written only when reading the entry without them would not give the event back. Other readers
ignore them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

from ....drafts import PHASES, ActorKind, Json, Kind, SessionDraft, ToolDraft
from ...common import origins
from ...common.values import dict_of, text_or_none
from .steps import Step

KIND = "x-kind"
"""The event kind, where the entry type stands for another."""
ACTOR = "x-actor"
"""``[kind, name]`` of the actor."""
DEPTH = "x-depth"
"""How deep inside sub-agents, for an entry that does not stand under the call that started them."""
DATA = "x-data"
"""``EventDraft.data`` of another format."""
RESULT = "x-result"
"""The structured result beside the plain text in ``output``."""
TOOL = "x-tool"
"""The tool of an entry that is neither call nor result, or the server of one that is."""
TEXT = "x-text"
"""Text of an entry whose type has no place for it."""
QUALITY = "x-quality"
"""In ``token-usage``: how good the numbers are, when they are not final."""
GENERATED = "x-generated-ids"
"""In ``session``: entry ids of the form ``e<n>`` were given by the writer, not by the recorder."""
SCHEMA = "x-schema"
"""In ``session``: what the trace that it was made from said of its shape, where that was another one."""
ORIGIN = "x-origin"
"""Who said it, see ``common.origins``; in ``meta`` of an attachment, too."""
AFTER = "x-after"
"""In ``meta`` of an attachment: id of the entry that its event follows in the log, empty where it is before all.
``DEPTH``, ``ACTOR`` and ``DATA`` stand there, too."""
SESSION = "x-session"
"""In ``session``: what is known of a session that came from elsewhere and has no place in a vCon."""
TEXTS = ("user_id", "summary", "phase", "parent_external_id")
NAMES = ("title", "agent_name")
"""Told beside those where no vCon around the trace tells them."""
CARRIED = ("recorder", "client", "provider", "models", "environment")
"""Metadata that a trace says in other words, or as ``unknown`` where the session said nothing."""
NOT_CARRIED = ("vcon", "parties", "lawful_basis", "consent", "evidence", "version_of", "parent_external_id",
               "stated")  # fmt: skip
"""Metadata that only this file and the desk may state."""
KINDS = frozenset(get_args(Kind))
ACTORS = frozenset(get_args(ActorKind))
TOOL_FIELDS = ("call_id", "name", "server", "arguments", "result", "status")


def session_member(session: SessionDraft) -> dict[str, Json]:
    """The value of ``x-session``."""
    members = {name: getattr(session, name) for name in TEXTS}
    told: dict[str, Json] = {name: value for name, value in members.items() if value}
    if session.tags:
        told["tags"] = list(session.tags)
    return told | {"agent_name": session.agent_name, "model": session.model, "metadata": session.metadata}


def without_phase(value: Json) -> Json:
    """What ``x-session`` says but for the phase: a word of ours, which nobody said in the session."""
    if not isinstance(value, dict):
        return value
    return {name: one for name, one in value.items() if name != "phase" or one not in PHASES}


def restore_session(draft: SessionDraft, value: Json) -> SessionDraft:
    """The draft with what ``x-session`` says of it."""
    members = dict_of(value)
    if not members:
        return draft
    given: dict[str, Any] = {name: members[name] for name in (*TEXTS, *NAMES) if text_or_none(members.get(name))}
    if given.get("phase") not in (None, *PHASES):
        del given["phase"]
    if members.get("agent_name") == "":
        given["agent_name"] = ""
    if "model" in members and isinstance(members["model"], str | None):
        given["model"] = members["model"]
    if isinstance(tags := members.get("tags"), list):
        given["tags"] = tuple(tag for tag in tags if isinstance(tag, str))
    return replace(draft, **given, metadata=_metadata(draft, members))


def _metadata(draft: SessionDraft, members: dict[str, Json]) -> dict[str, Json]:
    """The metadata that the session had, with what only this file may state."""
    if not isinstance(told := members.get("metadata"), dict):
        return draft.metadata
    here = {name: value for name, value in draft.metadata.items() if name not in CARRIED}
    return here | {name: value for name, value in told.items() if name in CARRIED or name not in (*here, *NOT_CARRIED)}


def restore(step: Step, native: dict[str, Json]) -> None:
    """Take our members out of ``native`` and put what they say into the step."""
    # who said it goes into the data, which another member may bring
    for name in sorted((name for name in native if name.startswith("x-")), key=ORIGIN.__eq__):
        reader = _READERS.get(name)
        if reader is not None and reader(step, native[name]):
            del native[name]
            step.for_writer.setdefault("own", []).append(name)


def restore_attachment(step: Step, meta: dict[str, Json]) -> None:
    """What ``meta`` says of the event that an attachment was made of."""
    for name, reader in ((DEPTH, _depth), (DATA, _data)):
        if name in meta:
            reader(step, meta[name])


def _kind(step: Step, value: Json) -> bool:
    if not isinstance(value, str) or value not in KINDS:
        return False
    step.kind = value  # type: ignore[assignment]
    return True


def actor_of(value: Json) -> tuple[ActorKind, str] | None:
    """The actor in our member, ``None`` when it is none."""
    if not (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(part, str) for part in value)
        and value[0] in ACTORS
    ):
        return None
    return value[0], value[1]


def _actor(step: Step, value: Json) -> bool:
    actor = actor_of(value)
    step.actor = actor or step.actor
    return actor is not None


def _depth(step: Step, value: Json) -> bool:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 64:
        return False
    step.depth = value
    return True


def _data(step: Step, value: Json) -> bool:
    """Replace the data by that of another format, as our member has it; the entry's own stays for the writer."""
    if not isinstance(value, dict):
        return False
    step.for_writer |= {name: step.data[name] for name in ("event_type", "details") if name in step.data}
    step.data = dict(value)
    return True


def _result(step: Step, value: Json) -> bool:
    if step.tool is None:
        return False
    step.tool = ToolDraft(
        step.tool.call_id, step.tool.name, step.tool.server, step.tool.arguments, value, step.tool.status
    )
    return True


def _tool(step: Step, value: Json) -> bool:
    if not isinstance(value, dict):
        return False
    known: dict[str, Any] = {name: getattr(step.tool, name) for name in TOOL_FIELDS} if step.tool else {}
    texts = ("call_id", "name", "server", "status")
    given = {
        name: value[name]
        for name in TOOL_FIELDS
        if name in value and (name not in texts or value[name] is None or isinstance(value[name], str))
    }
    step.tool = ToolDraft(**known | given)
    return True


def _origin(step: Step, value: Json) -> bool:
    told = origins.in_file(value)
    if told is not None:
        step.data[origins.REPORTED] = told
    return told is not None


def _text(step: Step, value: Json) -> bool:
    if not isinstance(value, str):
        return False
    step.text = value
    return True


_READERS = {
    KIND: _kind,
    ACTOR: _actor,
    DEPTH: _depth,
    DATA: _data,
    RESULT: _result,
    TOOL: _tool,
    TEXT: _text,
    ORIGIN: _origin,
}
