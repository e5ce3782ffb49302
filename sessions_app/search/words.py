"""Words of a text, as they stand in the search index and as somebody types them.

A word is a run of letters and digits in lower case. Paths and identifiers fall into their parts (``src/app/models.py``
is ``src``, ``app``, ``models``, ``py``; ``parse_header`` two words), and what is written in humps is found whole and by
its parts. Scripts without spaces are indexed in pairs of neighbours, so any part of a sentence is found. Accents, the
points of Hebrew and Arabic and the forms of an Arabic letter make no difference.

In Python and on bytes: 19 MB of a transcript take 0.5 CPU seconds so, ``to_tsvector`` 1.5 and a regular expression 0.9
(docs/search.md).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain

LONGEST = 64
"""Bytes of a word that count: nobody types more of one, and base64 would fill the index."""
LONGEST_IN_HUMPS = 100
"""Bytes of an identifier whose parts are looked for; longer ones are hashes and base64."""
REMEMBERED = 8_192
"""Words whose index words are kept: an identifier or a word with accents comes again in nearly each block of a session,
and finding its parts takes ten times as long as looking them up. At most 4 MB."""

UNSPACED = (
    "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, Kana, Han, Hangul: written without spaces, or with endings that no word list knows."""
LETTERS_WITH_SIGNS = "\u0900-\u0963\u0966-\u0dff"
"""Scripts of India, whose vowel signs are no letters to ``re``."""
PIECES = re.compile(f"([{UNSPACED}]+)|((?:(?![{UNSPACED}])(?:[^\\W_]|[{LETTERS_WITH_SIGNS}]))+)")
SIGNS = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]+")
"""Accents, points of Hebrew, and of Arabic the vowels and the stroke that lengthens a word."""
ARABIC_FORMS = str.maketrans("ىةیک", "يهيك")

_SPACED = bytes(code if code >= 128 or chr(code).isalnum() else 32 for code in range(256))
"""A space for each ASCII character that is no letter or digit; others as they are."""
_HUMPS = bytes(
    ord("a" if 97 <= code <= 122 else "A" if 65 <= code <= 90 else "0" if 48 <= code <= 57 else " ")
    for code in range(256)
)
_ESCAPES = re.compile(rb"\\[\\ntr]")
"""In JSON. One pass from backslash to backslash: ``replace`` for each of the four took a quarter of all time here."""
_SIGNS = re.compile(rb"\xe2(?:[\x80\x87-\x8b\x94-\x97][\x80-\xbf]|\x81[\x80-\xaf]|\x86[\x90-\xbf])")
"""In UTF-8: dashes and quotation marks, arrows, mathematics, boxes and shapes. U+2000 to 206F, 2190 to 22FF, 2500 to
25FF, of which none is, has or becomes a letter or digit."""
_PARTS = re.compile(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def words(text: str) -> set[bytes]:
    """The different words of a text, in UTF-8."""
    return words_of(_encoded(text))


def words_of(said: bytes) -> set[bytes]:
    """The same of a text in UTF-8."""
    raw = _unescaped(said)
    if b"\xe2" in raw:  # before words are told apart: each line of a file that was read has its own "12→def" else
        raw = _SIGNS.sub(b" ", raw)
    raw = raw.translate(_SPACED)
    written = set(raw.split())
    found = set(map(bytes.lower, written))
    # Of those that are written with capitals, each once: a text says a word some twenty times.
    found.update(chain.from_iterable(map(_parts, _humps(b" ".join(written.difference(found))))))
    is_plain = raw.isascii()
    if odd := [word for word in found if len(word) > LONGEST or not (is_plain or word.isascii())]:
        found.difference_update(odd)
        found.update(chain.from_iterable(map(_indexed, odd)))
    return found


def flat(text: str) -> str:
    """A text in which the words of ``words`` stand in their order, with other signs between them."""
    plain = _unescaped(_encoded(text)).translate(_SPACED).lower().decode()
    return plain if plain.isascii() else fold(plain)


def pieces(text: str) -> list[tuple[str, bool]]:
    """What somebody typed, as its runs in order; with each, whether it is of a script without spaces."""
    folded = flat(text)
    return [
        (match[0] if match[1] else _cut(match[0].encode()).decode(), bool(match[1]))
        for match in PIECES.finditer(folded)
    ]


def fold(text: str) -> str:
    """A text without what makes no difference to a search."""
    bare = SIGNS.sub("", unicodedata.normalize("NFKD", text)).casefold()
    return unicodedata.normalize("NFKC", bare.translate(ARABIC_FORMS))


def _encoded(text: str) -> bytes:
    return text.encode(errors="replace")


def _unescaped(said: bytes) -> bytes:
    """A text that may be JSON: the letter of an escaped line break is none of the word behind it."""
    return _ESCAPES.sub(b" ", said)


def _humps(raw: bytes) -> Iterator[bytes]:
    """Identifiers like ``parseHeader`` and ``HTTPServer``. Asks ``find`` for a change from small to capital: a regular
    expression over every text would take longer than all the rest."""
    shape = raw.translate(_HUMPS)
    for change in (b"aA", b"AAa"):
        at = shape.find(change)
        while at >= 0:
            start, end = shape.rfind(b" ", 0, at) + 1, shape.find(b" ", at)
            end = len(shape) if end < 0 else end
            if end - start <= LONGEST_IN_HUMPS:
                yield raw[start:end]
            at = shape.find(change, end)


@lru_cache(REMEMBERED)
def _parts(identifier: bytes) -> tuple[bytes, ...]:
    """The parts of one that is not longer than ``LONGEST_IN_HUMPS``."""
    return tuple(part.lower() for part in _PARTS.findall(identifier))


def _indexed(word: bytes) -> Iterable[bytes]:
    """Words of the index for one that is long, or not plain ASCII."""
    if word.isascii():
        return (word[:LONGEST],)
    return _remembered(word) if len(word) <= LONGEST else _folded(word)


def _folded(word: bytes) -> Iterator[bytes]:
    for match in PIECES.finditer(fold(word.decode())):
        if match[1]:
            # The last one stands alone, so that it is found by its beginning, too.
            yield from (match[0][place : place + 2].encode() for place in range(len(match[0])))
        else:
            yield _cut(match[0].encode())


@lru_cache(REMEMBERED)
def _remembered(word: bytes) -> tuple[bytes, ...]:
    """The same of a word that is not longer than ``LONGEST``."""
    return tuple(_folded(word))


def _cut(word: bytes) -> bytes:
    return word if len(word) <= LONGEST else word[:LONGEST].decode(errors="ignore").encode()
