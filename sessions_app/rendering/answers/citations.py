"""Citations of the desk's assistant: ``[SESSION_ID#SEQ]`` and ``[SESSION_ID]`` in what it says.

What it says is Markdown whose links lead nowhere (``markdown.render``, not ``linked``). The desk alone makes links of
citations, and only of what is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from .. import markdown
from ..text import escape

MOST = 200
"""Citations of a text that are looked up; those after them stay as they are."""
_CITATION = re.compile(
    r"\[([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?:#([1-9][0-9]{0,8}))?\]", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Cited:
    """A session, or an event of it where there is a ``seq``."""

    session_id: UUID
    seq: int | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """Where a citation leads: ``url`` is an address of the desk, ``title`` what strangers called the session."""

    url: str
    title: str


@dataclass(frozen=True, slots=True)
class Words:
    """The desk's own words, in the language of the page; ``event`` has a place for ``%(seq)s``."""

    event: str
    session: str
    not_found: str


def cited_in(texts: Iterable[str]) -> list[Cited]:
    """What texts cite, each once; the first ``MOST`` of each text."""
    found: dict[Cited, None] = {}
    for text in texts:
        for match, _ in zip(_CITATION.finditer(text), range(MOST), strict=False):
            found[_cited(match)] = None
    return list(found)


def render(text: str, targets: Mapping[Cited, Target], words: Words) -> str:
    """A text as safe HTML, its citations as links to ``targets``; of one that is not among them it says so."""
    left = MOST

    def shown(match: re.Match[str]) -> str:
        nonlocal left
        left -= 1
        return match[0] if left < 0 else _shown(match, targets, words)

    return _CITATION.sub(shown, markdown.render(text, coloured=True, linked=False))


def _shown(match: re.Match[str], targets: Mapping[Cited, Target], words: Words) -> str:
    cited = _cited(match)
    target = targets.get(cited)
    if target is None:
        return f'<span class="citation is-missing">{match[0]} <em>({escape(words.not_found)})</em></span>'
    name = words.event % {"seq": cited.seq} if cited.seq else words.session
    return f'<a class="citation" href="{escape(target.url)}" title="{escape(target.title)}">{escape(name)}</a>'


def _cited(match: re.Match[str]) -> Cited:
    return Cited(UUID(match[1]), int(match[2]) if match[2] else None)
