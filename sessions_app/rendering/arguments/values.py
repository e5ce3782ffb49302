"""Objects and lists as HTML: rows, tables for lists of objects, folds by level that say what is inside of them."""

from __future__ import annotations

import re
from typing import Any

import orjson

from ..numbers import duration
from ..text import clean, first_line
from . import money
from .markup import shown
from .summary import scalar, summary_of

LONG, LINES = 600, 16
"""Characters and lines of a text from which on it is folded."""
COLUMNS, TABLE_ROWS, CELL = 8, 100, 120
DEPTH = 12
KEY = 100
GRID = '<table class="grid">'
_MILLISECONDS = re.compile(r"(?:_ms|Ms|_millis|_milliseconds|Millis)$")
_SECONDS = re.compile(r"(?:_s|_secs?|_seconds|Seconds|Secs)$")
_TIME = re.compile(r"timeout|time_?limit|expires_in|delay|duration|ttl|wait", re.IGNORECASE)


class Writer:
    """Writes one value after the other until so many nodes are written; ``left_out`` counts what is not shown.

    ``most`` is the number of characters of one text that is shown, ``table_rows`` that of rows of one table.
    """

    def __init__(self, most: int, nodes: int, table_rows: int = TABLE_ROWS) -> None:
        self.most, self.nodes, self.table_rows = most, nodes, table_rows
        self.left_out = 0

    def rows(self, value: dict[str, Any], depth: int = 0) -> str:
        """An object as rows of a table: what is short comes first, in the order in which it was written."""
        currency = money.currency_in(value)
        pairs = sorted(value.items(), key=lambda pair: isinstance(pair[1], dict | list) and bool(pair[1]))
        rows = []
        for number, (key, item) in enumerate(pairs):
            if self.nodes <= 0:
                self.left_out += len(pairs) - number
                rows.append(
                    f'<tr><td colspan="2" class="is-waits">… {len(pairs) - number:,} more, not shown here</td></tr>'
                )
                break
            name = shown(clean(str(key))[:KEY])
            rows.append(
                f'<tr><th scope="row" class="untrusted" dir="auto">{name}</th>'
                f'<td class="untrusted">{self.value(item, str(key), currency, depth + 1)}</td></tr>'
            )
        body = "".join(rows)
        css = "pairs with-grid" if GRID in body else "pairs"
        return f'<table class="{css}"><tbody>{body}</tbody></table>'

    def value(self, value: Any, key: str = "", currency: str = "", depth: int = 1) -> str:
        """One value in the form that fits."""
        self.nodes -= 1
        if isinstance(value, dict | list) and value:
            if depth > DEPTH:
                return self._text(orjson.dumps(value, default=str).decode())
            return self._folded(value, depth, "")
        if isinstance(value, dict | list):
            return f'<span class="quiet">{summary_of(value)}</span>'
        if isinstance(value, str):
            inside = json_inside(value)
            if inside is not None:
                note = '<span class="note">JSON in a text, shown as it is read</span> '
                return note + self._folded(inside, depth, " open")
            return self._text(value) + self._beside(key, value, currency)
        kind = "number" if isinstance(value, int | float) and not isinstance(value, bool) else "word"
        return f'<code class="t-{kind}">{shown(scalar(value))}</code>{self._beside(key, value, currency)}'

    def _beside(self, key: str, value: Any, currency: str) -> str:
        said = money.sum_of(key, value, currency) or time_of(key, value)
        return f' <span class="beside">{shown(said)}</span>' if said else ""

    def _folded(self, value: dict[str, Any] | list[Any], depth: int, opened: str) -> str:
        body = self.rows(value, depth) if isinstance(value, dict) else self._list(value, depth)
        if isinstance(value, list) and _is_short(value):
            return body
        small = (
            isinstance(value, dict) and len(value) <= 6 and not any(isinstance(v, dict | list) for v in value.values())
        )
        opened = opened or (" open" if depth <= 1 and (small or is_table(value)) else "")
        return f'<details class="fold"{opened}><summary dir="auto">{shown(summary_of(value))}</summary>{body}</details>'

    def _list(self, items: list[Any], depth: int) -> str:
        if _is_short(items):
            return ", ".join(f"<bdi>{self._text(scalar(item))}</bdi>" for item in items)
        if is_table(items):
            return self._table(items)
        return self.rows({str(number): item for number, item in enumerate(items)}, depth)

    def _table(self, items: list[dict[str, Any]]) -> str:
        columns = columns_of(items)
        head = "".join(f'<th scope="col" class="untrusted">{shown(clean(name)[:KEY])}</th>' for name in columns)
        body = ""
        for number, item in enumerate(items):
            if number == self.table_rows or self.nodes <= 0:
                self.left_out += len(items) - number
                more = f"… {len(items) - number:,} more, not shown here"
                body += f'<tr><td colspan="{len(columns)}" class="is-waits">{more}</td></tr>'
                break
            self.nodes -= len(columns)
            body += f"<tr>{''.join(_cell(item.get(name), name in item) for name in columns)}</tr>"
        return f'<div class="wide">{GRID}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'

    def _text(self, text: str) -> str:
        if len(text) > self.most:
            self.left_out += 1
            cut = f' <span class="is-waits">… {len(text):,} characters in all</span>'
            return f'<span dir="auto">{shown(text[: self.most])}</span>{cut}'
        lines = text.count("\n") + 1
        if len(text) <= LONG and lines <= LINES:
            return f'<span dir="auto">{shown(text)}</span>'
        size = f"{len(text):,} characters, {lines:,} line{'s' if lines > 1 else ''}"
        return (
            f'<details class="long-value"><summary dir="auto">{shown(first_line(text, 120))} '
            f'<span class="quiet small">{size}</span></summary>'
            f'<div class="plain" dir="auto">{shown(text)}</div></details>'
        )


def json_inside(text: str) -> dict[str, Any] | list[Any] | None:
    """The object or list that a text is when it is read as JSON; None when it is none."""
    head = text.lstrip()[:1]
    if head not in ("{", "[") or len(text) > 256 * 1024:
        return None
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict | list) and value else None


def is_table(value: Any) -> bool:
    """Whether a list is one of objects with few, short values of the same names."""
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(item, dict) and item for item in value):
        return False
    if any(isinstance(cell, dict | list) for item in value[:TABLE_ROWS] for cell in item.values()):
        return False
    columns = columns_of(value)
    return len(columns) <= COLUMNS and all(
        len(scalar(cell)) <= CELL for item in value[:TABLE_ROWS] for cell in item.values()
    )


def columns_of(items: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(str(key) for item in items for key in item))


def time_of(key: str, value: Any) -> str:
    """``10 m`` for 600000 under a key that says milliseconds; empty where the unit is not known."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or value > 10**15:
        return ""
    if _MILLISECONDS.search(key):
        return duration(value)
    return duration(value * 1000) if _SECONDS.search(key) and (_TIME.search(key) or value >= 60) else ""


def _is_short(items: list[Any]) -> bool:
    return len(items) <= 20 and all(
        not isinstance(item, dict | list) and len(scalar(item)) <= 80 and "\n" not in scalar(item) for item in items
    )


def _cell(value: Any, is_there: bool) -> str:
    if not is_there:
        return '<td class="quiet">—</td>'
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    css = "untrusted right" if numeric or _looks_numeric(value) else "untrusted"
    return f'<td class="{css}" dir="auto">{shown(scalar(value))}</td>'


def _looks_numeric(value: Any) -> bool:
    return isinstance(value, str) and bool(re.fullmatch(r"[-−+]?\d{1,12}(?:[.,]\d{1,6})?", value))
