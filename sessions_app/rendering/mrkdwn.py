"""Markdown as Slack's mrkdwn, mrkdwn as plain text, and long texts in messages that Slack takes.

https://docs.slack.dev/messaging/formatting-message-text: ``&``, ``<`` and ``>`` are entities, and links and
mentions are written ``<...>``; so text of others that is escaped can neither link nor notify anybody.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import unescape
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token

from .markdown import MAX_BRACKETS, MAX_CHARACTERS
from .text import clean

LIMIT = 3_900
"""Characters of one message: ``chat.update`` refuses more than 4,000."""
FENCE = "```"
_SAFE_LINK = re.compile(r"(?:https?://|mailto:)[^\s<>|]+\Z", re.IGNORECASE)
_ADDRESS = re.compile(r"(?<!\w)https?://[^\s<>|`*]*[^\s<>|`*.,;:!?'\")\]}]")
"""One that stands in a text by itself, without what ends its sentence."""
_MARKS = {"strong": "*", "em": "_", "s": "~"}
_parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable(["table", "strikethrough"])


def escape(text: str) -> str:
    """Text without control characters, as mrkdwn that shows it and nothing else."""
    return clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def link(url: str, label: str) -> str:
    """A link; the label alone where the address is not http, https or mailto."""
    shown = escape(label).replace("|", "¦")
    return f"<{url.replace('&', '&amp;')}|{shown}>" if _SAFE_LINK.match(url) else shown


def from_markdown(text: str) -> str:
    """Markdown as mrkdwn. What is too large or too nested to be read as Markdown is escaped as it is."""
    if len(text) > MAX_CHARACTERS or text.count("[") > MAX_BRACKETS:
        return escape(text)
    return "\n".join(_Blocks(_parser.parse(clean(text))).to_lines()).strip("\n")


class _Blocks:
    """Lines of a message, out of markdown-it's block tokens one after the other."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.lines: list[str] = []
        self.prefixes: list[str] = []
        """What every line begins with here: quote marks, and the indents of lists."""
        self.numbers: list[int | None] = []
        """The number of the next item of each list that is open; None in one of bullets."""
        self.bullet = ""
        self.row: list[str] = []

    def to_lines(self) -> list[str]:
        """Tokens without a handler, as ``list_item_close`` and ``thead_open``, make no line of their own."""
        for index, token in enumerate(self.tokens):
            if handler := self.HANDLERS.get(token.type):
                handler(self, index, token)
        return self.lines

    def open_quote(self, index: int, token: Token) -> None:
        self.prefixes.append("> ")

    def close_quote(self, index: int, token: Token) -> None:
        self.prefixes.pop()
        self.lines.append("")

    def open_list(self, index: int, token: Token) -> None:
        if self.numbers:
            self.prefixes.append("    ")
        self.numbers.append(int(token.attrs.get("start", 1)) if token.type == "ordered_list_open" else None)

    def open_item(self, index: int, token: Token) -> None:
        number = self.numbers[-1]
        if number is None:
            self.bullet = "• "
        else:
            self.bullet = f"{number}. "
            self.numbers[-1] = number + 1

    def close_list(self, index: int, token: Token) -> None:
        self.numbers.pop()
        if self.numbers:
            self.prefixes.pop()
        else:
            self.lines.append("")

    def add_inline(self, index: int, token: Token) -> None:
        text = _inline(token.children or [])
        opener = self.tokens[index - 1].type
        if opener in ("td_open", "th_open"):
            self.row.append(text)
            return
        if opener == "heading_open" and text:
            text = f"*{text.replace('*', '')}*"
        self.add(self.bullet, text)
        self.bullet = ""

    def close_paragraph(self, index: int, token: Token) -> None:
        """An empty line, but not in a list, and not before the end of a quote, which adds one itself."""
        last_of_quote = self.tokens[index + 1 : index + 2] and self.tokens[index + 1].type == "blockquote_close"
        if not (token.hidden or self.numbers or last_of_quote):
            self.lines.append("".join(self.prefixes).rstrip())

    def add_rule(self, index: int, token: Token) -> None:
        self.lines.append("———")

    def add_code(self, index: int, token: Token) -> None:
        self.add("", f"{FENCE}\n{escape(token.content).rstrip()}\n{FENCE}")

    def close_row(self, index: int, token: Token) -> None:
        self.lines.append("".join(self.prefixes) + " | ".join(self.row))
        self.row = []

    def add_empty_line(self, index: int, token: Token) -> None:
        self.lines.append("")

    def add(self, bullet: str, text: str) -> None:
        """A block of text; its later lines are indented to where the first one begins."""
        before = "".join(self.prefixes) + bullet
        indent = re.sub(r"[^ >]", " ", before)
        self.lines.append(before + text.replace("\n", f"\n{indent}"))

    HANDLERS: ClassVar[dict[str, Callable[[_Blocks, int, Token], None]]] = {
        "blockquote_open": open_quote, "blockquote_close": close_quote,
        "bullet_list_open": open_list, "ordered_list_open": open_list, "list_item_open": open_item,
        "bullet_list_close": close_list, "ordered_list_close": close_list,
        "inline": add_inline, "paragraph_close": close_paragraph, "heading_close": add_empty_line,
        "hr": add_rule, "fence": add_code, "code_block": add_code,
        "tr_close": close_row, "table_close": add_empty_line,
    }  # fmt: skip


def _inline(tokens: Sequence[Token]) -> str:
    out: list[str] = []
    hrefs: list[tuple[str, int]] = []
    for token in tokens:
        if token.type == "text":
            out.append(escape(token.content) if hrefs else _with_links(token.content))
        elif token.type == "code_inline":
            out.append(f"`{escape(token.content)}`")
        elif token.type in ("softbreak", "hardbreak"):
            out.append("\n")
        elif token.type == "image":
            out.append(link(str(token.attrs.get("src", "")), f"[image: {token.content or 'without a description'}]"))
        elif token.type == "link_open":
            hrefs.append((str(token.attrs.get("href", "")), len(out)))
        elif token.type == "link_close" and hrefs:
            href, start = hrefs.pop()
            label = unescape("".join(out[start:]))
            out[start:] = [link(href, label)]
        else:
            out.append(_MARKS.get(token.tag, ""))
    return "".join(out)


def _with_links(text: str) -> str:
    """Escaped, with the addresses in it as links: in blocks Slack is told to make none by itself."""
    shown, at = [], 0
    for address in _ADDRESS.finditer(text):
        shown += [escape(text[at : address.start()]), f"<{escape(address[0])}>"]
        at = address.end()
    return "".join([*shown, escape(text[at:])])


# --- what people write in Slack ---

_ANGLES = re.compile(r"<([^<>\n]*)>")


def to_plain(text: str, *, bot: str) -> str:
    """What a person wrote, without the mention of the ``bot`` (its user id), links and entities as people read them."""
    plain = _ANGLES.sub(lambda match: _plain_reference(match[1], bot), text)
    plain = plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return re.sub(r"[ \t]{2,}", " ", plain).strip() if bot and f"<@{bot}" in text else plain.strip()


def _plain_reference(inside: str, bot: str) -> str:
    """What people read for a reference in angle brackets: ``@user|label``, ``#channel``, ``!here`` or a link."""
    target, _, label = inside.partition("|")
    if target.startswith("@"):
        return "" if target[1:] == bot else f"@{label.removeprefix('@') or target[1:]}"
    if target.startswith("#"):
        return f"#{label or target[1:]}"
    if target.startswith("!"):
        return label or f"@{target[1:].partition('^')[0]}"
    if not label or label in (target, target.partition("://")[2], target.removeprefix("mailto:")):
        return target.removeprefix("mailto:")
    return f"{label} ({target})"


# --- long texts ---


def split(text: str, limit: int = LIMIT) -> list[str]:
    """The text in parts of at most ``limit`` characters, cut between lines or words where that can be.

    A part that is full stays as it is when the text grows. A fence that is cut is closed, and opened again.
    """
    parts: list[str] = []
    while len(text) > limit:
        end = _end(text, limit - len(FENCE) - 1)
        part, text = text[:end].rstrip(), text[end:].lstrip("\n")
        if part.count(FENCE) % 2:
            part, text = f"{part}\n{FENCE}", f"{FENCE}\n{text}"
        parts.append(part)
    return [*parts, text] if text.strip() or not parts else parts


def _end(text: str, most: int) -> int:
    """Index to cut at: behind the last line, else word, of the second half; never inside of an entity or a link."""
    for mark in ("\n", " "):
        if (found := text.rfind(mark, most // 2, most)) > 0:
            return found + 1
    opened = max(text.rfind("<", 0, most), text.rfind("&", most - 5, most))
    closed = text.find(">" if text[opened] == "<" else ";", opened) if opened > most // 2 else -1
    return opened if closed >= most else most
