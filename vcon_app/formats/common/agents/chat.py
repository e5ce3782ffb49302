"""Messages in the shape of OpenAI's chat API, one a record, as several agents keep them with names of their own."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from ....drafts import Draft, Usage
from ..apis.openai import arguments_of
from ..calls import id_of
from ..lines import Line
from ..values import FIELD_LIMIT, dict_of, text_of
from .pieces import Piece, openai_pieces, pieces_of, readable
from .reading import AgentReading


def outcome_of(message: dict[str, Any], text: str) -> str | None:
    """What became of a call, where its result says so by a flag, or is JSON with an exit code or an error."""
    failed = message.get("is_error", message.get("isError"))
    if isinstance(failed, bool):
        return "error" if failed else "ok"
    told = dict_of(arguments_of(text)) if text.startswith("{") and '"exit_code"' in text[:FIELD_LIMIT] else {}
    code = told.get("exit_code")
    if told.get("error") or (isinstance(code, int) and code != 0):
        return "error"
    return "ok" if code == 0 else None


class ChatReading(AgentReading):
    """A reading of records that are messages with a role."""

    def chat(
        self, line: Line, message: dict[str, Any], *, model: Any = None, usage: Usage | None = None,
        cost: Decimal | None = None, data: dict[str, Any] | None = None,
    ) -> Iterator[Draft]:  # fmt: skip
        """The events of one message."""
        role = message.get("role")
        if role == "assistant":
            yield from self.message(
                line, "assistant", openai_pieces(message), model=model, usage=usage, cost=cost, data=data
            )
        elif role == "user":
            yield from self.message(line, "user", pieces_of(message.get("content")), data=data)
        elif role in ("system", "developer"):
            yield from self.message(line, "system", pieces_of(message.get("content")), data=data)
        elif role in ("tool", "function"):
            text, value = readable(message.get("content"))
            name = id_of(message.get("name")) or id_of(message.get("tool_name"))
            call_id = id_of(message.get("tool_call_id"))
            piece = Piece("result", text, "/content", call_id, name, value, outcome_of(message, text))
            yield from self.message(line, "tool", [piece], data=data)
        else:
            yield self.unknown(line, f"role {text_of(role)[:100]!r}")
