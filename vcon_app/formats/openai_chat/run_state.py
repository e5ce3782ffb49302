"""A saved run of the OpenAI Agents SDK (``RunState.to_json``, schema 1.0 to 1.17), paused or not.

Its items wrap those of the Responses API; ``context.approvals`` holds what was decided, by tool and call id, and
``current_step.data.interruptions`` what is still asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ...drafts import ToolDraft, Usage
from ..common.apis.openai import usage_of
from ..common.calls import ID_LIMIT, id_of
from ..common.jsonio import dumps
from ..common.lines import Line, digest
from ..common.values import dict_of, list_of, scalars_of, text_of
from .items import item_pieces
from .pieces import Piece, call, message_piece
from .session import Billing, Session

CACHED = ("cache_read_tokens", "cache_write_tokens")
COUNTS = ("input_tokens", *CACHED, "output_tokens", "reasoning_tokens")
APPROVAL = "tool_approval_item"
HANDOFFS = ("handoff_call_item", "handoff_output_item")
PAUSED, DONE = "next_step_interruption", "next_step_final_output"


def read_state(open_session: Callable[[str], Session], line: Line) -> None:
    """One session: what was put in, the items of the run, tokens, and approvals, open or decided."""
    value, state = line.value, _State(line.value)
    session = open_session(state.id)
    facts = session.facts
    facts.note_line(line)
    facts.agent = text_of(dict_of(value.get("current_agent")).get("name"))[:ID_LIMIT]
    step = dict_of(value.get("current_step")).get("type")
    facts.phase = "active" if step == PAUSED else "completed" if step == DONE else None
    facts.version = text_of(value.get("$schemaVersion"))
    facts.more |= scalars_of({"workflow": dict_of(value.get("trace")).get("workflow_name"), "trace": state.trace})
    session.tell_messages(line, state.started_with())
    for index, item in enumerate(state.items()):
        session.tell_messages(line, _item_pieces(item, f"{state.place}/{index}"))
        for response in state.finished_by(item):
            session.response(line, [], _billing(response))
    for response in state.unfinished():
        output = enumerate(map(dict_of, list_of(response.get("output"))))
        pieces = [piece for n, item in output for piece in item_pieces(item, f"/model_responses/output/{n}")]
        session.response(line, pieces, _billing(response))
    session.tell_messages(line, state.pending_approvals())
    session.tell_messages(line, state.decisions())
    if rest := state.usage_of_tool_agents():
        session.response(line, [], Billing(usage=rest, data={"type": "rest of the run"}))


class _State:
    def __init__(self, value: dict[str, Any]) -> None:
        self._value = value
        self._context = dict_of(value.get("context"))
        self.place = "/session_items" if list_of(value.get("session_items")) else "/generated_items"
        self.trace = text_of(dict_of(value.get("trace")).get("id"))
        self._open = [dict_of(response) for response in list_of(value.get("model_responses"))]
        self._told_calls: set[str] = set()

    @property
    def id(self) -> str:
        """The run's trace or conversation; else what it was started with."""
        stated = self.trace or text_of(self._value.get("conversation_id"))
        given = [self._value.get("original_input"), self._value.get("current_agent")]
        return (stated or f"openai-chat-{digest(dumps(given))}")[:ID_LIMIT]

    def started_with(self) -> Iterator[Piece]:
        """Input that the run was started with: a text, or items."""
        given = self._value.get("original_input")
        if isinstance(given, str):
            yield message_piece("user", given, "/original_input", [])
        for index, item in enumerate(map(dict_of, list_of(given))):
            yield from item_pieces(item, f"/original_input/{index}")

    def items(self) -> list[dict[str, Any]]:
        """Items of the run, of the whole session where they are kept."""
        return [dict_of(item) for item in list_of(self._value.get(self.place[1:]))]

    def finished_by(self, item: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Responses whose last item this is."""
        raw = dict_of(item.get("raw_item"))
        for response in [
            r for r in self._open if _is_same_call(dict_of(next(reversed(list_of(r.get("output"))), None)), raw)
        ]:
            self._open.remove(response)
            yield response

    def unfinished(self) -> list[dict[str, Any]]:
        """Responses of which no item was kept."""
        return self._open

    def pending_approvals(self) -> Iterator[Piece]:
        """Approvals that the run waits for and that stand in no item."""
        known = {_call_id(item) for item in self.items() if item.get("type") == APPROVAL}
        waiting = list_of(dict_of(dict_of(self._value.get("current_step")).get("data")).get("interruptions"))
        for index, item in enumerate(map(dict_of, waiting)):
            if _call_id(item) not in known:
                yield _question(item, f"/current_step/data/interruptions/{index}")

    def decisions(self) -> Iterator[Piece]:
        """Decisions by tool and call; ``True`` in the place of ids is one for all calls of the tool."""
        for tool, record in dict_of(self._context.get("approvals")).items():
            yield from _decisions(tool, dict_of(record), f"/context/approvals/{tool}")
        for index, entry in enumerate(map(dict_of, list_of(self._context.get("hosted_mcp_approvals")))):
            identity = dict_of(entry.get("identity"))
            name, server = text_of(identity.get("tool_name")), id_of(identity.get("server_label"))
            path = f"/context/hosted_mcp_approvals/{index}"
            yield from _decisions(name, dict_of(entry.get("decision")), path, server)

    def usage_of_tool_agents(self) -> Usage | None:
        """Tokens of the run beyond those of its responses: agents that ran as tools of it."""
        whole = usage_of(self._context.get("usage"))
        parts = [usage_of(dict_of(r).get("usage")) for r in list_of(self._value.get("model_responses"))]
        if whole is None:
            return None
        left = {name: _tokens_not_told(whole, parts, name) for name in COUNTS}
        return Usage(**left, quality="aggregate") if any(left.values()) else None


def _item_pieces(item: dict[str, Any], path: str) -> Iterator[Piece]:
    raw, kind = dict_of(item.get("raw_item")), item.get("type")
    agent = text_of(dict_of(item.get("agent")).get("name"))
    if kind == APPROVAL:
        yield _question(item, path)
        return
    if kind in HANDOFFS:
        source, target = (text_of(dict_of(item.get(key)).get("name")) for key in ("source_agent", "target_agent"))
        data = {"type": text_of(kind)} | scalars_of({"from": source or agent, "to": target})
        yield Piece(
            "handoff",
            "output",
            target or text_of(raw.get("name")),
            path,
            text_of(raw.get("id")),
            None,
            data,
            ("agent", agent),
        )
        return
    for piece in item_pieces(raw, f"{path}/raw_item"):
        yield replace(piece, actor=("agent", agent[:ID_LIMIT])) if piece.actor[0] == "agent" else piece


def _question(item: dict[str, Any], path: str) -> Piece:
    raw = dict_of(item.get("raw_item"))
    asked = call(
        _call_id(item),
        raw.get("name") or item.get("tool_name"),
        raw.get("arguments"),
        path,
        server=raw.get("server_label"),
    )
    data = {"type": APPROVAL, "decision": "pending"}
    return Piece(
        "approval", "output", "", path, "", asked.tool, data, ("agent", text_of(dict_of(item.get("agent")).get("name")))
    )


def _decisions(name: str, record: dict[str, Any], path: str, server: str | None = None) -> Iterator[Piece]:
    reasons = dict_of(record.get("rejection_messages"))
    for decision, key in (("approved", "approved"), ("denied", "rejected")):
        decided = record.get(key)
        for call_id in [None] if decided is True else list_of(decided):
            reason = text_of(
                reasons.get(call_id) if isinstance(call_id, str) else record.get("sticky_rejection_message")
            )
            tool = ToolDraft(id_of(call_id), id_of(name), server, status="denied" if decision == "denied" else None)
            data = {"type": "decision", "decision": decision, "by": "user"} | (
                {"always": True} if call_id is None else {}
            )
            yield Piece("approval", "input", reason, f"{path}/{key}", "", tool, data, ("person", ""))


def _billing(response: dict[str, Any]) -> Billing:
    id = id_of(response.get("response_id"))
    return Billing(id, None, usage_of(response.get("usage")), data=scalars_of({"response_id": id}))


def _call_id(item: dict[str, Any]) -> str:
    raw = dict_of(item.get("raw_item"))
    return next((id for key in ("call_id", "id", "name") if (id := text_of(raw.get(key)))), "")


def _is_same_call(one: dict[str, Any], other: dict[str, Any]) -> bool:
    ids = [one.get(key) for key in ("call_id", "id") if one.get(key)]
    return bool(one) and (one == other or any(id in (other.get("call_id"), other.get("id")) for id in ids))


def _tokens_not_told(whole: Usage, parts: list[Usage | None], name: str) -> int | None:
    """Part of a count that no response stated. A total that does not split its input includes all of theirs."""
    stated = getattr(whole, name)
    unsplit = [cached for cached in CACHED if name == "input_tokens" and getattr(whole, cached) is None]
    told = sum(getattr(part, counted) or 0 for part in parts if part for counted in (name, *unsplit))
    return None if stated is None else max(stated - told, 0)
