"""The log that newer versions of VS Code keep of a chat session: changes to a document, and how far they have come.

From ``chatSessionOperationLog.ts`` and ``objectMutationLog.ts`` of VS Code 1.109 to 1.11x. Whenever it saves, which is
also once a minute while a model answers, it appends what has changed: of a request first its plain members, then its
response. A request whose ``modelState`` says that it has ended is never changed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from ...drafts import Finding, FormatError
from ..common.head import Head
from ..common.lines import Item, Line
from ..common.records import lines_or_list
from ..common.values import dict_of, list_of
from .timeline import LARGEST_DOCUMENT

ENDED = (1, 2, 3)
"""``ResponseModelState``: complete, cancelled, failed. 0 is pending, and 4 waits for somebody."""
UNFINISHED = (
    "the last request is still being answered as far as this file tells: its events come with a file that says how it "
    "ended. Until then what it holds is in the rest of the file; with the format chosen by hand it is read as it stands"
)


def is_log(head: Head) -> bool:
    """A log that begins with a whole document."""
    first = head.records[0] if head.records else {}
    value = dict_of(first.get("v"))
    return first.get("kind") == 0 and "type" not in first and bool(value.keys() & {"requests", "sessionId", "version"})


def session_in(source: BinaryIO, *, unfinished_too: bool = False) -> Iterator[Item]:
    """The state that the changes of a log lead to, as one document. Raises ``FormatError``.

    Without the last request while it is being answered: what is told of it could not be taken back, and its answer
    changes until it has ended. Its last text grows, and what the model asked for comes with the result.
    """
    state: Any = {}
    last: list[Any] = []
    size = 0
    for item in lines_or_list(source, "copilot-cli"):
        if not isinstance(item, Line):
            yield item
            continue
        size += len(item.raw)
        if size > LARGEST_DOCUMENT:
            raise FormatError(f"a log of a chat session of more than {LARGEST_DOCUMENT / 1e6:,.0f} MB is not read")
        state, last = changed(state, item.value), list_of(item.value.get("k"))
    if not isinstance(state, dict):
        return
    requests = list_of(state.get("requests"))
    if requests and not (unfinished_too or _has_ended(requests, last)):
        yield Finding("copilot-cli.unfinished", "info", f"/requests/{len(requests) - 1}", UNFINISHED)
        state = {**state, "requests": requests[:-1]}
    yield Line(state, "", b"{}", None)


def _has_ended(requests: list[Any], last_change: list[Any]) -> bool:
    """Whether the last request was answered, as far as the log goes. One that stops behind a plain member of that
    request may have been read while it was written: the response comes behind it. The editor says ``modelState`` of
    each that has a response; of what others wrote nobody knows, and it is told."""
    request = dict_of(requests[-1])
    if last_change[:2] == ["requests", len(requests) - 1] and last_change[2:] not in ([], ["response"]):
        return False
    if "modelState" in request:
        return dict_of(request["modelState"]).get("value") in ENDED
    return "result" in request or request.get("isCanceled") is True or bool(list_of(request.get("response")))


def changed(state: Any, change: dict[str, Any]) -> Any:
    """The document after a change: 0 replaces all, 1 sets, 2 cuts a list off at ``i`` and adds, 3 deletes."""
    kind, path, value = change.get("kind"), list_of(change.get("k")), change.get("v")
    if kind == 0:
        return value
    holder = state
    for step in path[:-1]:
        holder = _child(holder, step)
    if not path or not _has_member(holder, path[-1]):
        return state
    last = path[-1]
    if kind == 1:
        _set_member(holder, last, value)
    elif kind == 2:
        held, index = _child(holder, last), change.get("i")
        held = held[:index] if isinstance(held, list) and isinstance(index, int) else list_of(held)
        _set_member(holder, last, [*held, *list_of(value)])
    elif kind == 3 and _child(holder, last) is not None:
        del holder[last]
    return state


def _has_member(holder: Any, step: Any) -> bool:
    return isinstance(holder, dict) and isinstance(step, str) or isinstance(holder, list) and type(step) is int


def _child(holder: Any, step: Any) -> Any:
    if isinstance(holder, dict) and isinstance(step, str):
        return holder.get(step)
    return holder[step] if isinstance(holder, list) and type(step) is int and 0 <= step < len(holder) else None


def _set_member(holder: Any, step: Any, value: Any) -> None:
    if isinstance(holder, dict) or 0 <= step < len(holder):
        holder[step] = value
    elif step == len(holder):
        holder.append(value)
