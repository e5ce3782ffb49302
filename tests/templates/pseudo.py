"""A language that says everything in brackets, and what a page says outside of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from unittest import mock

from django.conf import settings
from django.test import override_settings
from django.utils.translation import trans_real

from .words import AS_IT_IS, CODE, NAMES, SHOWN

LANGUAGE = "de"
"""Django has a catalogue of it, so browsers can ask for it; its numbers have a comma."""
INNERMOST = re.compile(r"⟦[^⟦⟧]*⟧")
DATA = {"untrusted", "num"}
"""Classes of elements that hold what others wrote, and numbers with their units."""
ENDLESS = {"input", "meta", "link", "br", "img", "hr", "use"}


class InBrackets(trans_real.DjangoTranslation):
    """``Home`` becomes ``⟦Home⟧``; of one and of many as in English."""

    def gettext(self, message: str) -> str:
        return f"⟦{message}⟧" if message else ""

    def ngettext(self, one: str, many: str, number: float) -> str:
        return f"⟦{one if number == 1 else many}⟧"

    def pgettext(self, context: str, message: str) -> str:
        return self.gettext(message)

    def npgettext(self, context: str, one: str, many: str, number: float) -> str:
        return self.ngettext(one, many, number)


@contextmanager
def spoken() -> Iterator[None]:
    """Browsers may ask for the language in brackets."""
    catalogue = InBrackets(LANGUAGE, domain="django")
    languages = [*settings.LANGUAGES, (LANGUAGE, "In brackets")]
    # In this order: a change of settings forgets all catalogues.
    with override_settings(LANGUAGES=languages), mock.patch.dict(trans_real._translations, {LANGUAGE: catalogue}):
        yield


class Said(HTMLParser):
    """Text of a page and its attributes that are shown, but for data and what is the same in every language."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = [""]
        self.open: list[tuple[str, bool]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.texts[0] += " "
        values = {name: value or "" for name, value in attrs}
        is_data = tag in AS_IT_IS or bool(DATA & set(values.get("class", "").split()))
        if not is_data and not self.skips:
            self.texts[1:1] = [values[name] for name in SHOWN & set(values)]
        if tag not in ENDLESS:
            self.open.append((tag, is_data))

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not self.skips:
            self.texts[0] += data

    @property
    def skips(self) -> bool:
        return any(is_data for _, is_data in self.open)


def outside_of_brackets(html: str) -> list[str]:
    """Words in ASCII that no message of a catalogue brought there: data of a test is Greek, to be told from them."""
    found = []
    for text in Said(html).texts:
        while (less := INNERMOST.sub(" ", text)) != text:
            text = less
        found += re.findall(r"[A-Za-z]{2,}", NAMES.sub(" ", CODE.sub(" ", text)))
    return found
