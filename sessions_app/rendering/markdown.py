"""Messages as Markdown: rendered without raw HTML, then sanitised by an allow-list all the same."""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from itertools import takewhile
from typing import Any
from unicodedata import bidirectional

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from . import colours
from .text import clean, escape, mark_invisible

MAX_CHARACTERS = 100 * 1024
"""Longer text is shown as it is: Markdown of a megabyte takes seconds and reads no better."""
MAX_BRACKETS = 10_000
"""Link parsing is quadratic in these: 100 KB of ``![`` took 1.6 s."""

_SAFE_LINK = re.compile(r"(?:https?://|mailto:)[^\s]", re.IGNORECASE)
_TAGS = {
    "a", "blockquote", "br", "code", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s", "strong",
    "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_BLOCKS = ("p", "li", "h3", "h4", "h5", "h6", "blockquote", "td", "th")
"""Each has the direction of its own first letter that has one: a message may be in two scripts."""


def render(text: str, *, coloured: bool = False, linked: bool = True) -> str:
    """Markdown as HTML that is safe to put into a page.

    No raw HTML, no images, links only to http, https and mailto, headings below the page's own. ``coloured``: blocks of
    code that say their language are in its colours. Not ``linked``: links stay as they were typed, and lead nowhere.
    """
    if len(text) > MAX_CHARACTERS or text.count("[") > MAX_BRACKETS:
        return f'<pre class="plain" dir="auto" tabindex="0">{escape(text)}</pre>'
    parser = _markdown if linked else _unlinked
    html = _sanitiser.clean(parser.render(clean(text), {"coloured": coloured}))
    return mark_invisible(html)  # once more: &#x202e; has only now become a character


def _safe_link(url: str) -> bool:
    return bool(_SAFE_LINK.match(url))


def _lower_headings(state: StateCore) -> None:
    """The page has h1 for the session and h2 for a turn: the first heading of a message is h3, whatever it was.

    No heading is more than one level below the one before it (axe-core, ``heading-order``).
    """
    above: list[str] = []
    for token in state.tokens:
        if token.type == "heading_open":
            while above and above[-1] >= token.tag:
                above.pop()
            above.append(token.tag)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, 2 + len(above))}"


_STRONG = {"L": False, "R": True, "AL": True}
"""Bidirectional classes of letters that have a direction, and whether it is from right to left."""


def _columns(state: StateCore) -> None:
    """Columns go from right to left where the first letter of the head does: cells have directions of their own, so the
    browser finds none for the table."""
    tokens = iter(state.tokens)
    for token in tokens:
        if token.type == "table_open":
            head = takewhile(lambda one: one.type != "thead_close", tokens)
            kinds = (bidirectional(letter) for one in head if one.type == "inline" for letter in one.content)
            if next((_STRONG[kind] for kind in kinds if kind in _STRONG), False):
                token.attrSet("dir", "rtl")


_TASK = re.compile(r"\[([ xX])\][ \t]+(?=\S)")


def _boxes(state: StateCore) -> None:
    """``- [ ] do`` as GitHub writes tasks (github.github.com/gfm, 5.3): an item of a list that begins with a box."""
    for item, inside, inline in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        is_beginning = item.type == "list_item_open" and inside.type == "paragraph_open"
        if is_beginning and inline.children and (box := _TASK.match(inline.content)):
            first = inline.children[0]
            first.content = f"{'☐' if box[1] == ' ' else '☑'} {first.content[box.end() :]}"
            item.attrSet("class", "task")


def _image(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: MutableMapping[str, Any]
) -> str:
    """An image is never loaded: it becomes a link that says so."""
    token = tokens[index]
    label = renderer.renderInlineAsText(token.children, options, env) or "without a description"
    href = str(token.attrs.get("src", ""))
    shown = escape(f"[image: {label}]")
    return f'<a href="{escape(href)}">{shown}</a>' if _safe_link(href) else shown


def _fence(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: MutableMapping[str, Any]
) -> str:
    """A block of code in the colours of the language that it says."""
    token = tokens[index]
    language = colours.language_of(token.info) if env.get("coloured") else ""
    inside = colours.coloured(token.content, language) if language else escape(token.content)
    return f"<pre><code>{inside}</code></pre>\n"


def _make_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": 20})
    parser.enable(["table", "strikethrough"])
    parser.validateLink = _safe_link  # type: ignore[method-assign]
    parser.core.ruler.push("lower_headings", _lower_headings)
    parser.core.ruler.push("boxes", _boxes)
    parser.core.ruler.push("columns", _columns)
    parser.add_render_rule("image", _image)
    parser.add_render_rule("fence", _fence)
    return parser


_markdown = _make_parser()
_unlinked = _make_parser().disable(["link", "image", "autolink", "reference"])
_sanitiser = nh3.Cleaner(
    tags=_TAGS | {"span"},
    tag_attribute_values={
        "span": {"class": {f"t-{kind}" for kind in colours.KINDS}},
        "li": {"class": {"task"}},
        "table": {"dir": {"rtl"}},
    },
    attributes={"a": {"href", "title"}, "ol": {"start"}},
    set_tag_attribute_values={
        **{name: {"dir": "auto"} for name in _BLOCKS},
        "pre": {"tabindex": "0"},
        "table": {"tabindex": "0"},  # wide ones scroll, by key too
    },
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
    link_rel="noopener nofollow",
)
