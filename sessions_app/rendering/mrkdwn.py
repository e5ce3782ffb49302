"""Markdown as Slack's mrkdwn, mrkdwn as plain text, and long texts in messages that Slack takes.

https://docs.slack.dev/messaging/formatting-message-text: ``&``, ``<`` and ``>`` are entities, and everything that
means something stands in ``<...>``; so text of others that is escaped can neither link nor call anybody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import unescape

from markdown_it import MarkdownIt
from markdown_it.token import Token

from .markdown import MAX_BRACKETS, MAX_CHARACTERS
from .text import clean

LIMIT = 3_900
"""Characters of one message: ``chat.update`` refuses more than 4,000."""
FENCE = "```"
_SAFE_LINK = re.compile(r"(?:https?://|mailto:)[^\s<>|]+\Z", re.IGNORECASE)
_MARKS = {"strong": "*", "em": "_", "s": "~"}
_parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable(["table", "strikethrough"])


def escape(text: str) -> str:
    """Text that means nothing in mrkdwn."""
    return clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def link(url: str, label: str) -> str:
    """A link, or its label where the address is none that a link may have."""
    shown = escape(label).replace("|", "¦")
    return f"<{url.replace('&', '&amp;')}|{shown}>" if _SAFE_LINK.match(url) else shown


def from_markdown(text: str) -> str:
    """Markdown as mrkdwn. What is too large or too nested to be read as Markdown is escaped as it is."""
    if len(text) > MAX_CHARACTERS or text.count("[") > MAX_BRACKETS:
        return escape(text)
    return "\n".join(_blocks(_parser.parse(clean(text)))).strip("\n")


def _blocks(tokens: Sequence[Token]) -> Iterator[str]:
    """Lines of the message. ``before``: what they begin with, quote marks and the indents of lists."""
    before: list[str] = []
    numbers: list[int | None] = []
    row: list[str] = []
    bullet = ""
    for index, token in enumerate(tokens):
        opener = tokens[index - 1].type if index else ""
        match token.type:
            case "blockquote_open":
                before.append("> ")
            case "bullet_list_open" | "ordered_list_open":
                start = int(token.attrs.get("start", 1)) if token.type.startswith("ordered") else None
                before += ["    "] if numbers else []
                numbers.append(start)
            case "list_item_open":
                number = numbers[-1]
                bullet = "• " if number is None else f"{number}. "
                numbers[-1] = None if number is None else number + 1
            case "bullet_list_close" | "ordered_list_close":
                numbers.pop()
                before = before[:-1] if numbers else before
                yield from [] if numbers else [""]
            case "blockquote_close":
                before.pop()
                yield ""
            case "inline":
                said = _inline(token.children or [])
                if opener in ("td_open", "th_open"):
                    row.append(said)
                    continue
                if opener == "heading_open" and said:
                    said = f"*{said.replace('*', '')}*"
                yield _line("".join(before) + bullet, said)
                bullet = ""
            case "paragraph_close" if not token.hidden and not numbers:
                ends = index + 1 < len(tokens) and tokens[index + 1].type == "blockquote_close"
                yield from [] if ends else ["".join(before).rstrip()]
            case "heading_close" | "hr":
                yield "———" if token.type == "hr" else ""
            case "fence" | "code_block":
                yield _line("".join(before), f"{FENCE}\n{escape(token.content).rstrip()}\n{FENCE}")
            case "tr_close":
                yield "".join(before) + " | ".join(row)
                row = []
            case "table_close":
                yield ""


def _line(before: str, said: str) -> str:
    indent = re.sub(r"[^ >]", " ", before)
    return before + said.replace("\n", f"\n{indent}")


def _inline(tokens: Sequence[Token]) -> str:
    out: list[str] = []
    hrefs: list[tuple[str, int]] = []
    for token in tokens:
        if token.type == "text":
            out.append(escape(token.content))
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


# --- what people write in Slack ---

_ANGLES = re.compile(r"<([^<>\n]*)>")


def to_plain(text: str, *, bot: str) -> str:
    """What a person wrote, without the mention of the ``bot`` (its user id), links and entities as people read them."""
    plain = _ANGLES.sub(lambda match: _meant(match[1], bot), text)
    plain = plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return re.sub(r"[ \t]{2,}", " ", plain).strip() if bot and f"<@{bot}" in text else plain.strip()


def _meant(inside: str, bot: str) -> str:
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
    """Where to cut: after the last line, else word, of the second half; never inside of an entity or a link."""
    for mark in ("\n", " "):
        if (found := text.rfind(mark, most // 2, most)) > 0:
            return found + 1
    opened = max(text.rfind("<", 0, most), text.rfind("&", most - 5, most))
    closed = text.find(">" if text[opened] == "<" else ";", opened) if opened > most // 2 else -1
    return opened if closed >= most else most
