"""State of a sample while its events are read: its values, and the messages that its events name."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ..common.documents import Document
from ..common.lines import Line
from ..common.reading import Findings
from ..common.spans.messages import Message
from ..common.spans.telling import Teller
from ..common.values import count_of, dict_of, list_of
from .content import FORMAT, Attachments, message_of, messages_in

MOST_NAMED = 30_000_000
"""Messages that requests may name in the pool: 10,000 messages of one conversation make 25,000,000."""


class SampleState(Document):
    """One sample in one epoch."""

    def __init__(self, line: Line, header: dict[str, Any], findings: Findings) -> None:
        """``header`` is that of the log."""
        super().__init__(FORMAT, findings)
        self.value = line.value
        self.line = line
        self.attachments = Attachments(line.value, findings, line.pointer)
        self.teller = Teller(self.calls, as_events=True)
        self._eval = dict_of(header.get("eval"))
        self._status = header.get("status")
        self._named = 0

    def sent(self, event: dict[str, Any]) -> list[Message]:
        """The input of a model event, which may be ranges of the sample's pool."""
        given = messages_in(event.get("input"), self.attachments)
        for pair in list_of(event.get("input_refs")):
            start, end = (count_of(edge) or 0 for edge in (list_of(pair) + [0, 0])[:2])
            self._named += max(min(end, len(self._pool)) - start, 0)
            if self._named > MOST_NAMED:
                self.attachments.add_finding(
                    "many-references", f"more than {MOST_NAMED:,} references to messages; not followed"
                )
                break
            given += self._pool[start:end]
        return given

    @cached_property
    def _pool(self) -> list[Message]:
        data = dict_of(self.value.get("events_data"))
        pool = list_of(data.get("messages")) or list_of(self.value.get("message_pool"))
        return [message_of(item, self.attachments) or Message("", ()) for item in pool]
