"""Rows of a store as the records that readers of files take, session by session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

from ....drafts import Draft, FormatError
from ..jsonio import Unreadable, loads
from ..lines import Item, Line
from ..records import record
from .opening import Row, Store, open_store
from .wal import ALONE, needs_log


def json_of(cell: Any) -> Any:
    """The value of a cell that holds JSON, as text or bytes; text that is none comes as it is."""
    if isinstance(cell, bytes):
        cell = cell.decode("utf-8", "replace")
    if not isinstance(cell, str):
        return cell
    try:
        return loads(cell.encode("utf-8", "replace"))[0]
    except Unreadable:
        return cell


def line_of(row: Row, pointer: str, *json: str) -> Iterator[Item]:
    """A row as a record without its empty cells, its columns ``json`` parsed; bytes are told by their length."""
    told = {key: json_of(cell) if key in json else cell for key, cell in row.items() if cell is not None}
    yield from record(
        {key: f"{len(cell)} bytes" if isinstance(cell, bytes) else cell for key, cell in told.items()}, pointer
    )


def session_of(row: Row, pointer: str, *json: str) -> Iterator[Item]:
    """As ``line_of`` for a row about a whole session, which changes while that goes on."""
    for item in line_of(row, pointer, *json):
        if isinstance(item, Line):
            item.about_session = True
        yield item


def read_store(source: BinaryIO, title: str, sessions: Callable[[Store], Iterable[Iterator[Draft]]]) -> Iterator[Draft]:
    """Drafts of all sessions of a store, one after the other. Raises ``FormatError``, also where there is none."""
    count = 0
    with open_store(source) as store:
        for drafts in sessions(store):
            count += 1
            yield from drafts
    if not count:
        why = f"; {ALONE}" if needs_log(source) else ""
        raise FormatError(f"it is a store of {title}, but no session is in it{why}")
