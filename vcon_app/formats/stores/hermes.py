"""Hermes Agent (Nous Research): ``~/.hermes/state.db``, which has the tokens of each session, and what
``hermes sessions export`` makes of it: a session a line, with its messages.

Columns differ by age. Rows that were rewound (``active`` 0) or summarised (``compacted`` 1) say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from ...drafts import Draft, Usage
from ..common.agents.chat import ChatReading
from ..common.agents.reading import unfolded
from ..common.facts import ID_LIMIT
from ..common.head import Head
from ..common.lines import Item, Line
from ..common.records import records
from ..common.runs import alone
from ..common.sqlite.opening import Store, is_sqlite
from ..common.sqlite.rows import json_of, line_of, read_store, session_of
from ..common.times import moment_of
from ..common.values import count_of, dict_of, list_of, money_of, scalars_of, text_of
from ..contract import Spec

NAME = "hermes-store"
SPEC = Spec(name=NAME, title="Hermes Agent (store)", grows="lines")
COUNTS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
STRUCTURED = ("\0json:", "\1json:")
"""Before content that is no text but blocks in JSON; versions differ in the first character."""
JSON = ("tool_calls", "reasoning_details", "codex_reasoning_items", "codex_message_items", "model_config")


def detect(head: Head) -> bool:
    """By messages with calls of OpenAI's shape beside sessions with a source and the sums of their tokens."""
    if any(map(_is_exported, head.records[:3])) or _is_exported(head.shape):
        return True
    return head.has_table("sessions", "id", "source", "started_at") and head.has_table(
        "messages", "session_id", "role", "content", "tool_calls", "tool_call_id"
    )


def _is_exported(value: dict[str, Any]) -> bool:
    return "messages" in value and isinstance(value.get("source"), str) and value.keys() >= {"started_at", *COUNTS[::3]}


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of all sessions of a store, a row in memory at a time. Raises ``FormatError``."""
    if not is_sqlite(source):
        return alone(records(source, NAME), NAME, _exported, HermesStoreReading)
    return read_store(source, SPEC.title, _sessions)


def _sessions(store: Store) -> Iterator[Iterator[Draft]]:
    messages = store.numbers("messages", "session_id", "timestamp", "id")
    for number, row in store.rows("sessions", store.all_numbers("sessions", "started_at")):
        own = str(row.get("id"))[:ID_LIMIT]
        if own in messages or any(row.get(name) for name in COUNTS):
            yield HermesStoreReading().run(_items(store, number, row, messages.pop(own, [])))


def _exported(session: Line) -> Iterator[Item] | None:
    """A session and its messages as records; ``None`` for what is none."""
    if not isinstance(session.value.get("messages"), list):
        return None
    header = {**session.value, "id": str(session.value.get("id"))}
    return unfolded([Line(header, session.pointer, session.raw, session.offset)], NAME, "messages")


def _items(store: Store, number: int, row: dict[str, Any], messages: list[int]) -> Iterator[Item]:
    yield from session_of({**row, "id": str(row.get("id"))}, f"/sessions/{number}", *JSON)
    for at, message in store.rows("messages", messages):
        content = message.get("content")
        if isinstance(content, str) and content.startswith(STRUCTURED):
            message = {**message, "content": json_of(content[len(STRUCTURED[0]) :])}
        yield from line_of(message, f"/messages/{at}", *JSON)


class HermesStoreReading(ChatReading):
    """The state of one session while it is read."""

    name = NAME
    title = "Hermes Agent"
    stamps = ("timestamp", "started_at")
    repeated = frozenset({"/user_id"})  # of a messenger: personal data

    def note(self, line: Line) -> None:
        if "role" in line.value:
            return
        value, facts = line.value, self.facts
        self.claim(value.get("id"))
        facts.title = text_of(value.get("title")) or facts.title
        facts.parent = text_of(value.get("parent_session_id"))[:ID_LIMIT] or None
        facts.model = text_of(value.get("model"))[:ID_LIMIT] or facts.model
        facts.at(moment_of(value.get("ended_at")).at)
        facts.set_environment(cwd=value.get("cwd"), branch=value.get("git_branch"))
        facts.more |= scalars_of({"platform": value.get("source"), "end_reason": value.get("end_reason")})

    def assign_key(self, line: Line) -> Any:
        found = super().assign_key(line)
        if own := line.value.get("id"):  # ids are numbers here, and a row that is rewound later is the same message
            line.key = f"messages:{str(own)[:100]}" if "role" in line.value else line.key
        return found

    def events(self, line: Line) -> Iterator[Draft]:
        value = line.value
        if "role" not in value:
            yield from self._session(line, value)
            return
        data = scalars_of({"finish_reason": value.get("finish_reason")})
        data |= {"rewound": True} if value.get("active") == 0 else {}
        data |= {"compacted": True} if value.get("compacted") == 1 else {}
        words = list_of(value.get("codex_message_items")) if not value.get("content") else []
        said = [block for item in words for block in list_of(dict_of(item).get("content"))]
        yield from self.chat(line, {**value, "content": said} if said else value, model=self.facts.model, data=data)

    def _session(self, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
        prompt = text_of(value.get("system_prompt"))
        data = {"type": "session"} | scalars_of(value, frozenset({"system_prompt", "user_id"}))
        counts = [count_of(value.get(name)) for name in COUNTS]
        actual = money_of(value.get("actual_cost_usd"))
        cost = actual if actual is not None else money_of(value.get("estimated_cost_usd"))
        if any(counts) or cost:
            yield line.event(
                "model_request", actor=line.agent, model=self.facts.model, usage=Usage(*counts, quality="aggregate"),
                cost=cost, request="session", data=data,
            )  # fmt: skip
        if prompt or not (any(counts) or cost):
            yield line.event("system", prompt, part=":prompt", at_path="/system_prompt", data={"type": "session"})
