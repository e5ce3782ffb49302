"""Requests for permission of the Agent Client Protocol: what is asked about, and which of their options is the answer.

Read from version 1 of the schema (1.19) and the draft of version 2: "Tool Calls", "Requesting Permission".
"""

from __future__ import annotations

from typing import Any

from ..answers import Decision
from ..call_events import server_of
from ..sentences import why
from .messages import Json

ALLOW, REJECT = "allow_once", "reject_once"
CANCELLED: Json = {"outcome": "cancelled"}
ENDED = {"completed": "succeeded", "failed": "errored"}
"""Status of a tool call -> what is reported of it."""
SHOWN = ("title", "kind", "rawInput", "content", "locations")
MOST_CALLS = 10_000
Call = tuple[str, str]
"""Session and id of a call."""


class Calls:
    """What the agent has said of its calls: a request for permission may name no more than the id of one."""

    def __init__(self) -> None:
        self._said: dict[Call, Json] = {}

    def note(self, params: Any) -> tuple[Call, str] | None:
        """Take in a ``session/update``; a call that has ended, and how (``succeeded``, ``errored``)."""
        update = params.get("update") if isinstance(params, dict) else None
        if not isinstance(update, dict) or update.get("sessionUpdate") not in ("tool_call", "tool_call_update"):
            return None
        call = (str(params.get("sessionId")), str(update.get("toolCallId")))
        ended = ENDED.get(str(update.get("status")))
        if ended:
            self._said.pop(call, None)
            return call, ended
        self._said[call] = self.whole(call, update)
        if len(self._said) > MOST_CALLS:
            del self._said[next(iter(self._said))]
        return None

    def whole(self, call: Call, said: Json) -> Json:
        """A call as it was reported, with what is said of it now; null says nothing."""
        return self._said.get(call, {}) | {name: value for name, value in said.items() if value is not None}


class Question:
    """``about`` is a tool call as the agent described it. Raises ``ValueError`` where nothing can be decided."""

    def __init__(self, session: str, about: Json) -> None:
        given, title = about.get("rawInput"), about.get("title")
        self.tool = _name(about)
        self.server = server_of(self.tool)
        self.context = title if isinstance(title, str) and title else None
        shown = {name: about[name] for name in SHOWN if about.get(name) is not None}
        if isinstance(given, dict):
            self.arguments = given
        elif "rawInput" in shown or "title" in shown or shown.get("content"):
            self.arguments = shown
        else:
            raise ValueError("the agent does not say what it is about to do")
        self.session = session


def _name(about: Json) -> str:
    """Of the tool: ``name`` as the protocol has it, what Claude's agents say in its place, or else the kind of call."""
    meta = about.get("_meta")
    claude = meta.get("claudeCode") if isinstance(meta, dict) else None
    vendor = claude.get("toolName") if isinstance(claude, dict) else None
    names = (about.get("name"), vendor, about.get("kind"))
    return next((name for name in names if isinstance(name, str) and name), "other")


def outcome(decision: Decision, options: Any) -> tuple[bool, Json]:
    """Whether the call may run, and the result of the request.

    Yes is the option ``allow_once`` and no other: ``allow_always`` would let through what nobody asked about. No is
    ``reject_once``, or ``cancelled`` where that is not offered.
    """
    said, option = why(decision), None
    if decision.allowed and decision.is_edited:
        said = f"Not run: {decision.by} allows other arguments, which this protocol has no room for."
    elif decision.allowed:
        option = option_of(options, ALLOW)
        said = said if option else "Not run: the agent offers no way to allow this once."
    allowed = option is not None
    option = option or option_of(options, REJECT)
    chosen = CANCELLED if option is None else {"outcome": "selected", "optionId": option}
    about = {"approval": decision.approval_id, "status": decision.status, "message": said}
    return allowed, {"outcome": chosen, "_meta": {"countersign": about}}


def option_of(options: Any, kind: str) -> str | None:
    """The id of the first option of a kind; of none whose id stands for another kind, too."""
    listed = [one for one in options if isinstance(one, dict)] if isinstance(options, list) else []
    ids = [one.get("optionId") for one in listed if one.get("kind") == kind]
    others = [one.get("optionId") for one in listed if one.get("kind") != kind]
    return next((id_ for id_ in ids if isinstance(id_, str) and id_ and id_ not in others), None)


def refused_by(answer: Any, options: Any) -> Json | None:
    """The outcome of an editor's answer where it refuses; None for a yes, which is not the editor's to say."""
    said = answer.get("outcome") if isinstance(answer, dict) else None
    if not isinstance(said, dict):
        return None
    if said.get("outcome") == "cancelled":
        return CANCELLED
    chosen = said.get("optionId") if said.get("outcome") == "selected" else None
    for kind in (REJECT, "reject_always"):
        if chosen is not None and chosen == option_of(options, kind):
            return {"outcome": "selected", "optionId": chosen}
    return None
