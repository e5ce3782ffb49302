"""Messages as HTML that cannot act."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from sessions_app.rendering import markdown


def plain(text: str) -> str:
    """Markdown without the direction that every block has."""
    return markdown.render(text).replace(' dir="auto"', "")


def test_markdown_of_messages_is_rendered() -> None:
    html = plain("# Plan\n**bold** ~~old~~ `code`\n\n- one\n\n| a |\n|---|\n| 1 |\n\n```py\nx < 1\n```")
    for wanted in ("<h3>Plan</h3>", "<strong>bold</strong>", "<s>old</s>", "<li>one</li>", "<td>1</td>", "x &lt; 1"):
        assert wanted in html


def test_line_breaks_of_a_message_stay() -> None:
    assert "<br>" in markdown.render("one\ntwo")


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<svg/onload=alert(1)>",
        "<iframe srcdoc='<script>'></iframe>",
        "```html\n</code></pre><script>alert(1)</script>\n```",
        "`</code><script>`",
        "[x](https://a.example \"\\\" onmouseover=alert(1)\")",
        "<a href=\"https://a.example\" onclick=alert(1)>x</a>",
        "| <style>*{}</style> |\n|---|\n| </table><script> |",
        "&lt;script&gt; &#60;script&#62;",
    ],
)  # fmt: skip
def test_raw_html_is_only_text(hostile: str) -> None:
    seen = Tags(markdown.render(hostile))
    assert seen.names <= {"p", "a", "code", "pre", "table", "thead", "tbody", "tr", "th", "td"}
    assert seen.attributes <= {"href", "title", "rel", "tabindex", "dir"}


class Tags(HTMLParser):
    """The tags and attributes that a browser would find."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes.update(name for name, _ in attrs)


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "JaVaScRiPt:x", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "/dashboard/agents",
     "//evil.example", "#e1", "blob:x", "java&#x0a;script:x", "\x01javascript:x"],
)  # fmt: skip
def test_a_link_that_is_not_to_the_web_is_no_link(url: str) -> None:
    assert "<a" not in markdown.render(f"[text]({url}) [text][ref] <{url}>\n\n[ref]: {url}")


@pytest.mark.parametrize("url", ["https://a.example/?x=1&y=2", "http://a.example", "mailto:a@b.example"])
def test_a_link_to_the_web_tells_the_other_side_nothing(url: str) -> None:
    html = markdown.render(f"[text]({url})")
    assert 'rel="noopener nofollow"' in html
    assert f'href="{url.replace("&", "&amp;")}"' in html


def test_an_image_is_a_link_and_never_loaded() -> None:
    assert plain("![a cat](https://a.example/cat.png)") == (
        '<p><a href="https://a.example/cat.png" rel="noopener nofollow">[image: a cat]</a></p>\n'
    )
    assert "<a" not in markdown.render("![x](data:image/png;base64,AAAA)")
    assert "<img" not in markdown.render("![x](data:image/png;base64,AAAA)")


def test_hidden_characters_are_shown_also_when_written_as_entities() -> None:
    html = markdown.render("a\u202eb &#x202e; &#8203; nul\0 \x1b[31mred")
    assert "a⟨U+202E⟩b ⟨U+202E⟩ ⟨U+200B⟩ nul␀ red" in html


def test_blocks_that_scroll_sideways_are_reached_by_keyboard() -> None:
    assert '<pre tabindex="0">' in markdown.render("```\nwide\n```")
    assert '<table tabindex="0">' in markdown.render("|a|b|\n|-|-|\n|1|2|")


def test_columns_go_from_right_to_left_where_their_heads_do() -> None:
    assert 'dir="rtl"' in markdown.render("| 1. عمود | Preis |\n|-|-|\n| أ | 1 |")
    assert 'dir="rtl"' not in markdown.render("| Preis | عمود |\n|-|-|\n| أ | 1 |")


def test_a_very_long_text_is_shown_as_it_is() -> None:
    html = markdown.render("<b>" + "x" * markdown.MAX_CHARACTERS)
    assert html.startswith('<pre class="plain" dir="auto" tabindex="0">&lt;b&gt;xxx')
    assert html.endswith("</pre>")


@pytest.mark.parametrize("unit", ["[", "![", "[a](", "> ", "*a ", "`a", "|a", "- a\n  ", "<a@", "&#x", "a**b"])
def test_text_made_to_be_slow_is_not(unit: str) -> None:
    assert markdown.render(unit * (markdown.MAX_CHARACTERS // len(unit)))


def test_each_block_has_the_direction_of_its_own_letters() -> None:
    html = markdown.render("one\n\nشكرا\n\n- a\n\n| b |\n|---|\n| c |")
    assert html.count('<p dir="auto">') == 2
    for tag in ("li", "th", "td"):
        assert f'<{tag} dir="auto">' in html


def test_a_block_of_code_has_the_colours_of_its_language() -> None:
    text = "```py\nreturn '<b>'\n```\n\n```nolang\nreturn\n```"
    html = markdown.render(text, coloured=True)
    assert '<span class="t-word">return</span>' in html
    assert "&lt;b&gt;" in html and "<b>" not in html
    assert html.count("t-word") == 1
    assert "<span" not in markdown.render(text)


def test_headings_skip_no_level_whatever_a_message_begins_with():
    levels = re.findall(r"<h(\d)", markdown.render("### a\n\n##### b\n\n### c\n\n# d\n\n## e\n\n###### f"))
    assert levels == ["3", "4", "3", "3", "4", "5"]


def test_tasks_of_a_list_have_boxes() -> None:
    html = markdown.render("- [ ] mend\n- [x] **test**\n- [X]\n- [y] no\n\n[ ] no item\n\n1. [X] first")
    assert html.count('class="task"') == 3
    assert [sign for sign in html if sign in "☐☑"] == ["☐", "☑", "☑"]
    assert "☑ <strong>test</strong>" in html
    assert "[X]</li>" in html and "[y] no" in html and "[ ] no item" in html
