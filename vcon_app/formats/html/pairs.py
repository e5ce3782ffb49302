"""A tool call and its result on one card, although other events may stand between them in the log."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from ...drafts import EventDraft

AHEAD = 64
"""How many events are looked ahead for a result; one that comes later has a card of its own."""

Numbered = tuple[int, EventDraft]


def paired(events: Iterable[EventDraft]) -> Iterator[tuple[int, EventDraft, Numbered | None]]:
    """``(seq, event, (seq, result))``; results that went with their call are left out. Holds ``AHEAD`` events."""
    waiting: deque[Numbered] = deque()
    shown: set[int] = set()
    for numbered in enumerate(events, start=1):
        waiting.append(numbered)
        if len(waiting) > AHEAD:
            yield from _next(waiting, shown)
    while waiting:
        yield from _next(waiting, shown)


def _next(waiting: deque[Numbered], shown: set[int]) -> Iterator[tuple[int, EventDraft, Numbered | None]]:
    seq, event = waiting.popleft()
    if seq in shown:
        shown.remove(seq)
        return
    result = next((item for item in waiting if _answers(item, event) and item[0] not in shown), None)
    if result:
        shown.add(result[0])
    yield seq, event, result


def _answers(numbered: Numbered, call: EventDraft) -> bool:
    result = numbered[1]
    if call.kind != "tool_call" or result.kind != "tool_result":
        return False
    call_id = call.tool.call_id if call.tool else None
    same_id = call_id is not None and result.tool is not None and result.tool.call_id == call_id
    return same_id or result.parent == call.key
