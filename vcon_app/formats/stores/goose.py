"""Goose (Block) from 1.10 on: ``~/.local/share/goose/sessions/sessions.db``.

What was spent stands in a ledger, a row a request; older stores have sums of a session alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from ...drafts import Draft, Usage
from ..agents.goose import goose_pieces, totals_of, usage_of
from ..common.agents.reading import AgentReading
from ..common.facts import ID_LIMIT
from ..common.head import Head
from ..common.lines import Item, Line
from ..common.sqlite.opening import Store
from ..common.sqlite.rows import line_of, read_store, session_of
from ..common.times import moment_of
from ..common.usage import first_count
from ..common.values import dict_of, first_text, money_of, scalars_of, text_of
from ..contract import Spec

NAME = "goose-store"
SPEC = Spec(name=NAME, title="Goose (store)", grows="lines")
JSON = ("content_json", "metadata_json", "model_config_json", "recipe_json", "extension_data")


def detect(head: Head) -> bool:
    """By the messages with content in JSON beside sessions with a working directory."""
    return head.has_table("sessions", "id", "working_dir") and head.has_table(
        "messages", "session_id", "role", "content_json"
    )


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of all sessions of a store, a row in memory at a time. Raises ``FormatError``."""
    return read_store(source, SPEC.title, _sessions)


def _sessions(store: Store) -> Iterator[Iterator[Draft]]:
    messages = store.numbers("messages", "session_id", "created_timestamp")
    ledger = store.numbers("usage_ledger", "session_id", "created_timestamp")
    for number, row in store.rows("sessions", store.all_numbers("sessions", "created_at")):
        own = str(row.get("id"))[:ID_LIMIT]
        if own in messages or own in ledger:
            rows = (messages.pop(own, []), ledger.pop(own, []))
            yield GooseStoreReading(billed=bool(rows[1])).run(_items(store, number, row, *rows))


def _items(store: Store, number: int, row: dict[str, Any], messages: list[int], ledger: list[int]) -> Iterator[Item]:
    yield from session_of({**row, "id": str(row.get("id"))}, f"/sessions/{number}", *JSON)
    for at, message in store.rows("messages", messages):
        yield from line_of(message, f"/messages/{at}", *JSON)
    for at, spent in store.rows("usage_ledger", ledger):
        yield from line_of(spent, f"/usage_ledger/{at}")


class GooseStoreReading(AgentReading):
    """The state of one session while it is read; ``billed`` says that a ledger tells what each request took."""

    name = NAME
    title = "Goose"
    stamps = ("created_timestamp", "timestamp", "created_at")
    ids = ("message_id", "id")

    def __init__(self, *, billed: bool) -> None:
        super().__init__()
        self._billed = billed

    def note(self, line: Line) -> None:
        if not line.pointer.startswith("/sessions/"):
            return
        value, facts = line.value, self.facts
        self.claim(value.get("id"))
        facts.title = first_text(value.get("name"), value.get("description")) or facts.title
        facts.parent = text_of(value.get("parent_session_id"))[:ID_LIMIT] or None
        config = dict_of(value.get("model_config_json"))
        facts.model = first_text(config.get("model_name"), config.get("model"))[:ID_LIMIT] or facts.model
        facts.set_environment(cwd=value.get("working_dir"))
        facts.at(moment_of(value.get("updated_at")).at)

    def events(self, line: Line) -> Iterator[Draft]:
        value, role = line.value, line.value.get("role")
        if line.pointer.startswith("/sessions/"):
            yield from self._session(line, value)
        elif line.pointer.startswith("/usage_ledger/"):
            counts = [
                first_count(value, f"{name}_tokens", name) for name in ("input", "cache_read", "cache_write", "output")
            ]
            data = {"type": "compaction_request"} if value.get("is_compaction") else {}
            model = text_of(value.get("model"))[:ID_LIMIT] or self.facts.model
            yield line.event(
                "model_request", actor=line.agent, model=model, usage=usage_of(counts), request=line.key,
                cost=money_of(value.get("cost")), data=data | scalars_of({"cost_source": value.get("cost_source")}),
            )  # fmt: skip
        elif role in ("user", "assistant"):
            hidden = dict_of(value.get("metadata_json")).get("userVisible") is False
            data = {"hidden": True} if hidden else {}
            role = "context" if hidden and role == "user" else role
            pieces = goose_pieces(value.get("content_json"))
            yield from self.message(line, role, pieces, model=self.facts.model, data=data)
        else:
            yield self.unknown(line, f"role {str(role)[:100]!r}")

    def _session(self, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
        data = {"type": "session"} | scalars_of(value)
        usage = totals_of(value)
        cost = money_of(value.get("accumulated_cost"))
        if not self._billed and (usage or cost):
            yield line.event(
                "model_request", actor=line.agent, model=self.facts.model,
                usage=usage or Usage(quality="aggregate"), cost=cost, request="session", data=data,
            )  # fmt: skip
        else:
            yield line.event("system", data=data)
