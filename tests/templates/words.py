"""Words that a template says without gettext, found with Django's own lexer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

from django.template.base import Lexer, Token, TokenType

NAMES = re.compile(
    r"\b(Countersign|vCon|VCON|Slack|Teams|JSON|JWS|CSV|SDK|API|HTTP|URL|UTC|MCP|OTLP|A2A|CEL|SHA-256|GitHub|PostgreSQL|Python|KB|MB|ms|ID)\b"
)
"""What is called the same in every language."""
SHOWN = {
    "title", "aria-label", "aria-description", "aria-roledescription", "aria-valuetext", "placeholder", "alt", "label",
    "hx-confirm", "hx-prompt", "data-confirm", "data-before", "data-label", "data-words",
}  # fmt: skip
"""Attributes whose value is read by people."""
AS_IT_IS = {"code", "pre", "samp", "kbd", "script", "style"}
"""Elements whose text is the same in every language."""
WORD = re.compile(r"[^\W\d_]{2,}")
FILTERED = re.compile(r"""\|(?:default|default_if_none|yesno|add|join|pluralize):("[^"]*"|'[^']*')""")
ARGUMENT = re.compile(r"""(?:^|[\s=])("[^"]*"|'[^']*')""")
SENTENCE = re.compile(r"[A-Z]\w| ")
ELEMENT = re.compile(r"""<!--.*?-->|<!\w[^>]*>|<(/?)([a-zA-Z][\w-]*)((?:"[^"]*"|'[^']*'|[^>"'])*)>""", re.S)
ATTRIBUTE = re.compile(r"""([\w:-]+)\s*=\s*("[^"]*"|'[^']*')""")
VALUE = "\ue000"
"""Stands where a tag or a variable of the template stands."""


@dataclass(frozen=True, slots=True)
class Untranslated:
    """Words of a template, and the line they begin on."""

    line: int
    words: str


def untranslated(source: str) -> list[Untranslated]:
    """Text, attributes and arguments of a template that gettext does not see, in the order of their lines."""
    tokens = Lexer(source).tokenize()
    found = [*_of_html("".join(_plain(tokens))), *_of_tags(tokens)]
    return sorted(found, key=lambda one: one.line)


def _plain(tokens: list[Token]) -> Iterator[str]:
    """The HTML of a template, what is translated and what is computed left out, each line where it was."""
    inside = False
    for token in tokens:
        name = token.contents.split(" ", 1)[0] if token.token_type == TokenType.BLOCK else ""
        if name in ("blocktranslate", "comment"):
            inside = True
        elif name in ("endblocktranslate", "endcomment"):
            inside = False
        text = token.contents if token.token_type == TokenType.TEXT and not inside else VALUE
        yield text if text != VALUE else VALUE + "\n" * token.contents.count("\n")


def _of_html(html: str) -> Iterator[Untranslated]:
    """Words in text and in attributes that are shown."""
    open_: list[str] = []
    at = 0
    for element in ELEMENT.finditer(html):
        if not open_:
            yield from _said(html, at, html[at : element.start()])
        at = element.end()
        closes, name, attributes = element[1], (element[2] or "").lower(), element[3] or ""
        for attribute in ATTRIBUTE.finditer(attributes):
            if attribute[1] in SHOWN:
                yield from _said(html, element.start(3) + attribute.start(2), attribute[2])
        if name in AS_IT_IS and not closes:
            open_.append(name)
        elif open_ and closes and name == open_[-1]:
            open_.pop()
    yield from _said(html, at, html[at:])


def _said(html: str, at: int, text: str) -> Iterator[Untranslated]:
    if WORD.search(NAMES.sub("", unescape(text))):
        begins = at + re.search(r"[^\s\ue000]", text).start()
        yield Untranslated(html.count("\n", 0, begins) + 1, " ".join(text.replace(VALUE, "…").split()))


def _of_tags(tokens: list[Token]) -> Iterator[Untranslated]:
    """Literals that filters put on the page, and sentences that are handed to an included template or to a tag."""
    for token in tokens:
        if token.token_type not in (TokenType.VAR, TokenType.BLOCK):
            continue
        literals = FILTERED.findall(token.contents)
        if token.token_type == TokenType.BLOCK and token.contents.split(" ", 1)[0] not in ("translate", "load", "url"):
            literals += [one for one in ARGUMENT.findall(token.contents) if SENTENCE.search(one[1:-1])]
        for literal in literals:
            if WORD.search(NAMES.sub("", literal[1:-1])):
                yield Untranslated(token.lineno, literal)
