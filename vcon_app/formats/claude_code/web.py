"""A session that was exported from the web, read as the lines of a stored one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import ijson

from ...drafts import Finding
from ..common.jsonio import dumps
from ..common.lines import Item, named, objects
from ..common.streamed import items


def web_lines(source: BinaryIO) -> Iterator[Item]:
    """The lines of one ``{"loglines": [...]}``.

    A document that ends too early gives what came before and a finding.
    """
    yield from named("claude-code", _lines(source))


def _lines(source: BinaryIO) -> Iterator[Item]:
    try:
        for index, value in enumerate(items(source, "loglines")):
            yield from objects(dumps(value), f"/loglines/{index}", None, last=False)
    except (ijson.JSONError, UnicodeDecodeError) as error:
        yield Finding("cut-off-document", "warning", "/loglines", f"the document ends too early: {error}")
