"""What is searched of an event, and how the search index marks whose words a row has."""

from __future__ import annotations

from uuid import UUID

from sessions_app.search.typed import Term

LONGEST = 20_000
"""Characters of one field that are searched: nobody looks for the middle of a dump."""
PARTS = ("e.tool_name", "e.arguments #>> '{}'", "e.result #>> '{}'")
# ``left`` walks over every character of what it is given; how many bytes a column has is written on it.
_SAID = f"CASE WHEN octet_length(e.text) <= {LONGEST} THEN e.text ELSE left(e.text, {LONGEST}) END"
TEXT = f"concat_ws(' ', {_SAID}, {', '.join(f'left({part}, {LONGEST})' for part in PARTS)})"
"""SQL of the text of an event ``e``."""
SESSION, WORKSPACE = "@s", "@w"
"""Before an id in hexadecimal, as a word of ``SearchBlock.words``. No word of a text holds an @."""


def row_query(terms: list[Term], mark: str, of: UUID) -> str:
    """A ``tsquery`` for rows that have all words of the terms, those that are to be found, and belong to ``of``."""
    wanted = [word for term in terms if not term.is_excluded for word in term.indexed]
    return " & ".join(
        [f"'{mark}{of.hex}'", *(f"'{word}'{':*' if is_beginning else ''}" for word, is_beginning in wanted)]
    )
