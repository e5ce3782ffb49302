"""Sessions that are one JSON document (exported from the web, or a list), read as the lines of a stored one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import ijson

from ...drafts import Finding
from ..common.jsonio import dumps
from ..common.lines import BOM, Item, named, objects
from ..common.streamed import items


def web_lines(source: BinaryIO, key: str = "loglines") -> Iterator[Item]:
    """The lines of one ``{"loglines": [...]}``, or without a ``key`` of a list.

    A document that ends too early gives what came before and a finding.
    """
    yield from named("claude-code", _lines(source, key))


def _lines(source: BinaryIO, key: str) -> Iterator[Item]:
    place = f"/{key}" if key else ""
    if source.read(len(BOM)) != BOM:
        source.seek(0)
    try:
        for index, value in enumerate(items(source, key)):
            yield from objects(dumps(value), f"{place}/{index}", None, last=False)
    except (ijson.JSONError, UnicodeDecodeError) as error:
        yield Finding("cut-off-document", "warning", place, f"the document ends too early: {error}")
