"""Words of a file that nobody would find again: strings in no event, no fact of the session and no other part of it.

``python -m bench.seeds.words [FILE ...]`` reads files (by default all of the corpus up to 1.5 MB) and prints in
how many of them a string of 20 or more characters is shown nowhere, by format, with the places of the first of these.
"""

from __future__ import annotations

import io
import json
import re
import sqlite3
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from bench.formats.checks import sessions_of
from bench.formats.corpus import CORPUS, LISTS, OPAQUE
from vcon_app import registry
from vcon_app.drafts import EventDraft, FormatError, SessionDraft, ToolDraft
from vcon_app.formats.common.head import open_plain
from vcon_app.formats.common.times import parse
from vcon_app.formats.file_parts import VALUE_LIMIT, parts_of
from vcon_app.formats.rest_of_file import Shown, rest_of
from vcon_app.signing import cbor

SHORTEST = 20
PROOFS = ("/signatures", "/signature", "/payload", "/$upg/integrity", "/_integrity")
SSE = re.compile(r"(event|id|retry):")
BOM = b"\xef\xbb\xbf"
BINARY = re.compile(r"[A-Za-z0-9+/_-]{200,}={0,2}")
LARGEST = 1_500_000
"""Bytes of a file that is tried: in larger ones long strings stay in the original file."""
Session = tuple[SessionDraft, list[EventDraft]]


def strings_of(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Place and text of each long string of a document."""
    stack = [(place, value)]
    while stack:
        at, one = stack.pop()
        if isinstance(one, dict):
            stack += [(f"{at}/{name}", item) for name, item in one.items()]
        elif isinstance(one, list):
            stack += [(f"{at}/{number}", item) for number, item in enumerate(one)]
        elif isinstance(one, str) and len(one) >= SHORTEST:
            yield at, one


def lost(data: bytes) -> list[tuple[str, str]] | None:
    """Long strings that no event, fact or part shows; None for what is refused, or holds no session."""
    try:
        name = registry.detect(io.BytesIO(data))[0]
        drafts = list(registry.reader(name).read(io.BytesIO(data)))
    except FormatError:
        return None
    sessions = sessions_of(drafts)
    if not sessions:
        return None
    shown = "\n".join(_shown(drafts, sessions, name, data))
    words = ((place, text) for place, text in content_of(data) if not _is_no_text(place, text))
    return [(place, text) for place, text in words if not _is_found(text, shown)]


def content_of(data: bytes) -> Iterator[tuple[str, str]]:
    """Long strings of a file in whatever container, found without our readers; texts line by line."""
    plain = open_plain(io.BytesIO(data)).read()
    if plain[:1] >= b"\x80" and not plain.startswith(BOM):
        yield from strings_of(cbor.loads(plain))
    elif plain.startswith(b"SQLite format 3\0"):
        yield from _cells(plain)
    elif plain.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(plain)) as archive:
            for name in archive.namelist():
                yield from strings_of(json.loads(archive.read(name)), f"/{name}")
    else:
        yield from _of_text(plain.decode("utf-8-sig", "replace"))


def _of_text(text: str) -> Iterator[tuple[str, str]]:
    """Strings of a document, else of its lines, on which objects may be glued; a line that is no JSON is one itself."""
    try:
        yield from strings_of(json.loads(text))
        return
    except ValueError:
        pass
    for number, line in enumerate(text.split("\n"), 1):
        at, data = 0, line.strip().removeprefix("data:").strip()
        try:
            while at < len(data):
                value, at = json.JSONDecoder().raw_decode(data, at)
                yield from strings_of(value, f"L{number}")
        except ValueError:
            if not SSE.match(data):
                yield from strings_of(data[at:].strip("#> "), f"L{number}")


def _cells(data: bytes) -> Iterator[tuple[str, str]]:
    with closing(sqlite3.connect(":memory:")) as store:
        header = bytearray(data)
        header[18:20] = b"\1\1"  # no log beside it
        store.deserialize(bytes(header))
        store.text_factory = lambda cell: cell.decode("utf-8", "replace")
        tables = [name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for row in store.execute(f'SELECT * FROM "{table}"'):  # noqa: S608 - a name of its own schema
                for cell in row:
                    if isinstance(cell, str):
                        yield from ((f"/{table}{place}", text) for place, text in _of_text(cell))


def _is_no_text(place: str, text: str) -> bool:
    """A signature, a seal, a time or bytes, which pages show in a form of their own."""
    return place.startswith(PROOFS) or bool(BINARY.fullmatch(text)) or parse(text)[0] is not None


def _is_found(text: str, shown: str) -> bool:
    """As it stands; of JSON in a string each of its own strings; of a text in pieces, each line."""
    if text[:VALUE_LIMIT] in shown:  # what is longer is cut on the page, which says so
        return True
    if text[:1] in "{[":
        try:
            inner = [one for place, one in strings_of(json.loads(text)) if not _is_no_text(place, one)]
            return all(_is_found(one, shown) for one in inner)
        except ValueError:
            pass
    return all(line.strip() in shown for line in text.split("\n"))


def _shown(drafts: list[Any], sessions: list[Session], name: str, data: bytes) -> Iterator[str]:
    """Everything that pages show of the sessions of a file."""
    for session, events in sessions:
        parts = parts_of(name, session.record)
        rest = rest_of(io.BytesIO(data), Shown(session, events, parts), alone=len(sessions) == 1)
        yield from (value.text for part in (*parts, *rest.parts) for value in part.values)
    for draft in drafts:
        if isinstance(draft, EventDraft):
            yield from _texts([getattr(draft, member) for member in EventDraft.__slots__])
        elif isinstance(draft, SessionDraft):
            yield from _texts([getattr(draft, member) for member in SessionDraft.__slots__ if member != "record"])
        else:
            yield from _texts([getattr(draft, member, "") for member in ("message", "detail", "signer")])


def _texts(value: Any) -> Iterator[str]:
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            stack += [*one.keys(), *one.values()]
        elif isinstance(one, (list, tuple)):
            stack += one
        elif isinstance(one, ToolDraft):
            stack += [getattr(one, member) for member in ToolDraft.__slots__]
        elif isinstance(one, str):
            yield one
        elif one is not None:
            yield str(one)


def files() -> list[Path]:
    """Files of the corpus that may hold a session, always in the same order."""
    names = (*LISTS, *OPAQUE)
    return [one for one in sorted(CORPUS.rglob("*")) if one.is_file() and one.name not in names and _is_small(one)]


def _is_small(path: Path) -> bool:
    return path.stat().st_size <= LARGEST


def main(paths: list[Path]) -> int:
    tried: Counter[str] = Counter()
    hidden: Counter[str] = Counter()
    for path in paths:
        data = path.read_bytes()
        missing = lost(data)
        if missing is None:
            continue
        name = registry.detect(path)[0]
        tried[name] += 1
        hidden[name] += bool(missing)
        for place, text in missing[:3]:
            print(f"{path.name}: {place[:120]}: {text[:60]!r}")
    for name in sorted(tried):
        print(f"{name:20}{tried[name]:5} files{hidden[name]:5} with a string that is shown nowhere")
    print(f"{tried.total()} files, {hidden.total()} with a string that is shown nowhere")
    return 1 if hidden.total() else 0


if __name__ == "__main__":
    sys.exit(main([Path(name) for name in sys.argv[1:]] or files()))
