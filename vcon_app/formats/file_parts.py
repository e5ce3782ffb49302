"""What a file holds beside its events: every value that a reader kept with the session, under its place in the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from ..drafts import Json, Losses
from .common.jsonio import Unreadable, dumps, loads
from .common.values import dict_of, list_of, text_of

MOST_VALUES = 5_000
"""Of one session; the original file has the rest."""
VALUE_LIMIT = 4_000
"""Characters of one value that are shown."""
TITLE_LIMIT = 120
MOST_NAMED, MOST_MEMBERS = 100, 12
"""Parts that are named as lost one by one, and members that are named of each."""
REASON_LIMIT = 500
NOTHING: tuple[Json, ...] = (None, {}, [])
OF_THE_READER = ("kinds", "dialect", "dialogs", "renamed", "forms", "elided", "traces", "sealed")
"""Members of the record of a vCon that are notes of ours."""


@dataclass(frozen=True, slots=True)
class Value:
    """One value of the file as text; ``size`` counts its characters where ``text`` is only their beginning."""

    place: str
    """JSON pointer (RFC 6901) in the file."""
    text: str
    size: int = 0


@dataclass(frozen=True, slots=True)
class FilePart:
    """Values that belong together: a party, an attachment, a node."""

    title: str
    place: str
    values: tuple[Value, ...]


def parts_of(format_name: str, record: Json) -> list[FilePart]:
    """The parts that the record of a session holds, in the order of the file; a hostile one makes no error."""
    held = dict_of(record).get(format_name)
    found = _READERS.get(format_name, _plain)(dict_of(held))
    parts, left = [], MOST_VALUES
    for title, place, value in found:
        values = tuple(islice(_values(value, place), left)) if value not in NOTHING else ()
        left -= len(values)
        if values:
            parts.append(FilePart(title[:TITLE_LIMIT], place, values))
    return parts


def lose_parts(record: Json, own: str, losses: Losses, why: str) -> None:
    """Tell what of the files of other formats than ``own`` is not written: each part, with the members that it has."""
    for name in sorted(dict_of(record).keys() - {own}):
        parts = parts_of(name, record)
        for part in parts[:MOST_NAMED]:
            members = dict.fromkeys(value.place[len(part.place) :].lstrip("/") for value in part.values[:MOST_MEMBERS])
            more = ", …" if len(part.values) > MOST_MEMBERS else ""
            losses.lose(f"{part.title} of the {name} file", f"{why}: {', '.join(members)}{more}"[:REASON_LIMIT])
        if (left := len(parts) - MOST_NAMED if parts else 1) > 0:
            losses.lose(f"{'other ' if parts else ''}parts of the {name} file around its events", why, left)


def with_words(parts: Sequence[FilePart], words: str) -> tuple[list[FilePart], bool]:
    """The values that have these words, in whatever case, in their place, their text or the title of their part: side
    by side, else all of them, else any; and whether each has all."""
    wanted = words.casefold()
    each = wanted.split()
    found = _that(parts, lambda said: wanted in said) or _that(parts, lambda said: all(word in said for word in each))
    if found or len(each) == 1:
        return found, True
    return _that(parts, lambda said: any(word in said for word in each)), False


def _that(parts: Iterable[FilePart], says: Callable[[str], bool]) -> list[FilePart]:
    found = []
    for part in parts:
        if says(part.title.casefold()):
            found.append(part)
        elif values := tuple(one for one in part.values if says(f"{one.place}\n{one.text}".casefold())):
            found.append(replace(part, values=values))
    return found


Found = tuple[str, str, Json]
"""Title, place and value of a part."""


def _values(value: Json, place: str) -> Iterator[Value]:
    """The leaves below a value; iterative, so that nesting is no danger."""
    stack = [(place, value)]
    while stack:
        at, one = stack.pop()
        if isinstance(one, (dict, list)) and one:
            inner = list(one.items() if isinstance(one, dict) else enumerate(one))
            stack += [(f"{at}/{token(key)}", item) for key, item in reversed(inner)]
            continue
        text = one if isinstance(one, str) else dumps(one).decode()
        yield Value(at, text[:VALUE_LIMIT], len(text) if len(text) > VALUE_LIMIT else 0)


def token(key: Json) -> str:
    """A key as it stands in a JSON pointer."""
    return str(key).replace("~", "~0").replace("/", "~1")


def _vcon(record: dict[str, Json]) -> Iterator[Found]:
    yield "vCon", "", dict_of(record.get("top"))
    for index, party in enumerate(list_of(record.get("parties"))):
        yield f"Party: {_named(party, 'name', 'mailto', 'tel')}", f"/parties/{index}", party
    trace = dict_of(record.get("trace"))
    if trace:
        place = f"/analysis/{trace.get('i', 0)}"
        yield "Agent trace", place, trace.get("item")
        yield "Agent trace: record", f"{place}/body", trace.get("record")
        yield "Agent trace: session", f"{place}/body/session", trace.get("session")
    for kind, names in (("analysis", ("type",)), ("attachments", ("purpose", "type", "filename"))):
        for kept in map(dict_of, list_of(record.get(kind))):
            title = f"{'Analysis' if kind == 'analysis' else 'Attachment'}: {_named(kept.get('item'), *names)}"
            yield title, f"/{kind}/{kept.get('i', 0)}", kept.get("item")
    known = ("top", "parties", "trace", "analysis", "attachments", *OF_THE_READER)
    yield "Other members", "", {name: value for name, value in record.items() if name not in known}


def _upg(record: dict[str, Json]) -> Iterator[Found]:
    """Nodes and edges stand under their ids: their order in a graph means nothing."""
    yield "Graph", "", {name: record[name] for name in ("header", "extra") if name in record}
    yield f"Product: {_named(record.get('product'), 'title', 'name')}", "/product", record.get("product")
    for name, word in (("nodes", "Node"), ("rest", "Node of no session")):
        for node in list_of(record.get(name)):
            kind = text_of(dict_of(node).get("type"))
            yield f"{word}: {kind} {_named(node, 'title', 'id')}", f"/nodes/{token(dict_of(node).get('id', ''))}", node
    for name in ("edges", "rest_edges", "cross"):
        for edge in list_of(record.get(name)):
            yield f"Edge: {_named(edge, 'type')}", f"/edges/{token(dict_of(edge).get('id', ''))}", edge


def _llmfeed(record: dict[str, Json]) -> Iterator[Found]:
    """Blocks are kept as the text that they were, for a signature is over their bytes."""
    for pair in list_of(record.get("blocks")):
        if not (isinstance(pair, list) and len(pair) == 2):
            continue
        name, text = map(text_of, pair)
        try:
            value = loads(text.encode("utf-8", "replace"))[0]
        except Unreadable:
            value = text
        yield f"Block: {name}", f"/{token(name)}", value
    yield "Feed", "", {name: record[name] for name in ("feed_type", "layouts") if record.get(name)}


def _plain(record: dict[str, Json]) -> Iterator[Found]:
    for name, value in record.items():
        yield name, f"/{token(name)}", value


def _named(value: Json, *names: str) -> str:
    told = dict_of(value)
    return next((told[name] for name in names if text_of(told.get(name))), "unnamed")


_READERS = {"vcon": _vcon, "upg": _upg, "llmfeed": _llmfeed}
