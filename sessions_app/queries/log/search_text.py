"""What is searched of an event, and how the search index marks whose words a row has."""

from __future__ import annotations

from uuid import UUID

import orjson

from sessions_app.event_chain import COLUMNS, FIRST_OF_ANY_LENGTH, fields
from sessions_app.search.typed import Term

LONGEST = 20_000
"""Characters of one field that are searched: nobody looks for the middle of a dump."""
PARTS = ("e.tool_name", "e.arguments #>> '{}'", "e.result #>> '{}'")
# ``left`` walks over every character of what it is given; how many bytes a column has is written on it.
_SAID = f"CASE WHEN octet_length(e.text) <= {LONGEST} THEN e.text ELSE left(e.text, {LONGEST}) END"
TEXT = f"concat_ws(' ', {_SAID}, {', '.join(f'left({part}, {LONGEST})' for part in PARTS)})"
"""SQL of the text of an event ``e``."""
_SEARCHED = ("text", "tool_name", "arguments", "result")
_WANTED = tuple(name in _SEARCHED for name in COLUMNS[FIRST_OF_ANY_LENGTH : COLUMNS.index(_SEARCHED[-1]) + 1])
SESSION, WORKSPACE = "@s", "@w"
"""Before an id in hexadecimal, as a word of ``SearchBlock.words``. No word of a text holds an @."""


def text_of_row(row: bytes) -> bytes:
    """What ``TEXT`` gives for an event, from its row as ``COPY`` sends it: 2 µs, and 4 of the database for ``TEXT``."""
    text, tool, arguments, result = fields(row, _WANTED)
    if tool is None and arguments is None and result is None:
        return text if text and len(text) <= LONGEST else _left(text or b"")
    parts = (text, tool, _written(arguments), _written(result))
    return b" ".join([part if len(part) <= LONGEST else _left(part) for part in parts if part])


def _written(document: bytes | None) -> bytes | None:
    """``#>> '{}'`` of a document as ``jsonb`` is sent: a byte for the version of that form, and JSON."""
    if document is None or document == b"\1null":
        return None
    if document[1:2] == b'"':
        text: str = orjson.loads(document[1:])
        return text.encode()
    return document[1:]


def _left(part: bytes) -> bytes:
    return part.decode()[:LONGEST].encode()


def row_query(terms: list[Term], mark: str, of: UUID) -> str:
    """A ``tsquery`` for rows that have all words of the terms, those that are to be found, and belong to ``of``."""
    wanted = [word for term in terms if not term.is_excluded for word in term.indexed]
    return " & ".join(
        [f"'{mark}{of.hex}'", *(f"'{word}'{':*' if is_beginning else ''}" for word, is_beginning in wanted)]
    )
