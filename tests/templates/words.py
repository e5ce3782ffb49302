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
CODE = re.compile(r"\S*[/_:=]\w\S*|\b[a-z]+(?:-[a-z]+)*(?:-\d+)+\b")
"""What a machine reads: ``role:admin``, ``/amount``, ``issue_refund``, names of models."""
SHOWN = {
    "title", "aria-label", "aria-description", "aria-roledescription", "aria-valuetext", "placeholder", "alt", "label",
    "hx-confirm", "hx-prompt", "data-confirm", "data-before", "data-label", "data-words",
}  # fmt: skip
"""Attributes whose value is read by people."""
AS_IT_IS = {"code", "pre", "samp", "kbd", "script", "style"}
"""Elements whose text is the same in every language."""
WORD = re.compile(r"[^\W\d_]{2,}")
FILTERED = re.compile(r"""\|(?:default|default_if_none|yesno|add|join|pluralize):("[^"]*"|'[^']*')""")
LITERAL = re.compile(r"""^("[^"]*"|'[^']*')""")
PROSE = re.compile(r"[a-z]{2,} [a-z]{2,}")
ARGUMENT = re.compile(r"""(?:^|[\s=])("[^"]*"|'[^']*')""")
OF_CLASSES = re.compile(r"block \w+_(class|attributes)$")
UNSEEN = {"translate", "load", "url", "if", "elif"}
"""Tags whose literals are not put on the page."""
SENTENCE = re.compile(r"[A-Z]\w| ")
ELEMENT = re.compile(r"""<!--.*?-->|<!\w[^>]*>|<(/?)([a-zA-Z][\w-]*|\ue000)((?:"[^"]*"|'[^']*'|[^>"'])*)>""", re.S)
ATTRIBUTE = re.compile(r"""([\w:-]+)\s*=\s*("[^"]*"|'[^']*')""")
SENTENCES = re.compile(r"{%\s*blocktranslate(.*?)%}(.*?){%\s*endblocktranslate", re.S)
FUNCTIONS = {"waiting_count", "stops", "reasons_in_store", "deciders_here"}
"""Of ``sessions_app.views.context``: templates call them, so that they cost nothing where nobody asks."""
VALUE = "\ue000"
"""Stands where a tag or a variable of the template stands."""


@dataclass(frozen=True, slots=True)
class Untranslated:
    """Words of a template, and the line they begin on."""

    line: int
    words: str


def is_said(text: str) -> bool:
    """Whether there are words in a text that differ from language to language."""
    return bool(WORD.search(NAMES.sub("", CODE.sub("", text))))


def untranslated(source: str) -> list[Untranslated]:
    """Text, attributes and arguments of a template that gettext does not see, in the order of their lines."""
    tokens = Lexer(source).tokenize()
    found = [*_of_html("".join(_plain(tokens))), *_of_tags(tokens)]
    return sorted(found, key=lambda one: one.line)


def traps(source: str) -> list[str]:
    """Names in sentences that Django would show wrongly, or not at all.

    A value that stands in a sentence without ``with`` is not called when it is a function; and ``count`` is looked up
    after ``with``, so that of the same name it is a text.
    """
    found = []
    for arguments, sentence in SENTENCES.findall(source):
        bound = re.findall(r"(\w+)=", arguments)
        found += [name for name in re.findall(r"{{ (\w+) }}", sentence) if name in FUNCTIONS and name not in bound]
        counter = re.search(r"(?<!\|)\bcount \w+=(\w+)", arguments)
        found += [counter[1]] if counter and counter[1] in bound else []
    return found


def _plain(tokens: list[Token]) -> Iterator[str]:
    """The HTML of a template, what is translated and what is computed left out, each line where it was."""
    inside = False
    for token in tokens:
        name = token.contents.split(" ", 1)[0] if token.token_type == TokenType.BLOCK else ""
        if name in ("blocktranslate", "comment") or OF_CLASSES.match(token.contents):
            inside = True
        elif name in ("endblocktranslate", "endcomment", "endblock"):
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
    if is_said(unescape(text)):
        begins = at + re.search(r"[^\s\ue000]", text).start()
        yield Untranslated(html.count("\n", 0, begins) + 1, " ".join(text.replace(VALUE, "…").split()))


def _of_tags(tokens: list[Token]) -> Iterator[Untranslated]:
    """Literals that filters put on the page, and sentences that are handed to an included template or to a tag."""
    for token in tokens:
        if token.token_type not in (TokenType.VAR, TokenType.BLOCK):
            continue
        literals = FILTERED.findall(token.contents)
        if token.token_type == TokenType.VAR:
            literals += [one for one in LITERAL.findall(token.contents) if PROSE.search(one)]
        if token.token_type == TokenType.BLOCK and token.contents.split(" ", 1)[0] not in UNSEEN:
            literals += [one for one in ARGUMENT.findall(token.contents) if SENTENCE.search(one[1:-1])]
        for literal in literals:
            if is_said(literal[1:-1]):
                yield Untranslated(token.lineno, literal)
