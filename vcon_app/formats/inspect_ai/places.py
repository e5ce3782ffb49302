"""Where in a sample an event stands: inside of a tool, of a scorer, of a sub-task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ..common.values import dict_of, text_of

MOST_LEVELS = 100
SCORERS = ("scorer", "scorers")


@dataclass(slots=True)
class Span:
    """A span that was begun. ``key`` is that of the event which stands for it, once there is one."""

    id: str
    parent: str
    kind: str
    name: str
    key: str = ""


class Places:
    """Spans of newer logs and steps of older ones; both give events their depth and their parent."""

    def __init__(self) -> None:
        self._spans: dict[str, Span] = {}
        self._steps: list[tuple[str, str, str]] = []
        """Kind, name and key of those that are begun and not ended, the outermost first."""

    def begin(self, event: dict[str, Any], key: str) -> None:
        """A span begins; ``key`` is that of its event, "" for a tool, whose call comes behind it."""
        span = Span(_text(event, "id"), _text(event, "parent_id"), _text(event, "type"), _text(event, "name"), key)
        self._spans[span.id] = span

    def step(self, event: dict[str, Any], key: str) -> None:
        """A step of an older log begins or ends."""
        if event.get("action") == "begin":
            self._steps.append((_text(event, "type"), _text(event, "name"), key))
        elif self._steps:
            self._steps.pop()

    def tool(self, event: dict[str, Any], key: str) -> str:
        """The span that a call runs in, "" when it has none; what is in it is below the call from now on."""
        inside, name = _text(event, "span_id"), _text(event, "function")
        for span in islice(reversed(self._spans.values()), MOST_LEVELS):
            if span.kind == "tool" and not span.key and span.parent == inside and span.name == name:
                span.key = key
                return span.id
        return ""

    def spans_above(self, event: dict[str, Any], *, itself: bool = False) -> list[str]:
        """Keys of the events that this one is below of, the outermost first.

        A span's own begin names itself; ``itself`` leaves that out.
        """
        keys = [key for kind, _, key in self._steps if kind in SCORERS]
        above = (span for span in self._around(event, itself=itself) if span.key and span.kind in ("tool", "scorer"))
        return keys + [span.key for span in above][::-1]

    def scorer(self, event: dict[str, Any]) -> str:
        """Name of the scorer that the event happens in."""
        steps = [name for kind, name, _ in self._steps if kind in SCORERS]
        return next((span.name for span in self._around(event) if span.kind == "scorer"), steps[-1] if steps else "")

    def _around(self, event: dict[str, Any], *, itself: bool = False) -> Iterator[Span]:
        id = _text(event, "parent_id") if itself else _text(event, "span_id")
        for _ in range(MOST_LEVELS):
            span = self._spans.get(id)
            if span is None:
                return
            yield span
            id = span.parent


def _text(event: dict[str, Any], name: str) -> str:
    return text_of(dict_of(event).get(name))[:200]
