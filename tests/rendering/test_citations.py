"""What the assistant cites is a link of the desk; nothing else in its answer is one, whatever a transcript says."""

from __future__ import annotations

from html.parser import HTMLParser
from uuid import UUID

import pytest

from sessions_app.rendering.answers.citations import Cited, Target, Words, render

ID = "01a218c7-1f5a-7000-ba73-7eeee2e1afb2"
EVENT = f"[{ID}#3]"
TARGETS = {
    Cited(UUID(ID), 3): Target("/chat/1?event=3", 'a "title" <b onclick=x>'),
    Cited(UUID(ID)): Target("/chat/1", "a title"),
}
WORDS = Words("event %(seq)s", "session", "not found")
ALLOWED = {"class", "dir", "href", "title", "start", "align", "data-language", "tabindex"}


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in {"script", "img", "iframe", "style", "form", "object", "svg", "meta", "base"}, tag
        for name, value in attrs:
            assert name in ALLOWED, name
            assert "<a" not in (value or "") and "citation" not in (value or "").replace("citation", "", 1)
        self.links += [value for name, value in attrs if name == "href"]


@pytest.mark.parametrize(
    ("text", "links"),
    [
        (EVENT, 1), (f"[{ID}]", 1), (f"`{EVENT}`", 1), (f"# {EVENT}", 1), (f"&lt;{EVENT}&gt;", 1),
        (f"{EVENT}(https://evil.example)", 1), (f"{EVENT}[x]\n\n[x]: https://evil.example", 1),
        (f"{EVENT}: https://evil.example\n\n{EVENT}", 2), (f"[{EVENT}](javascript:alert(1))", 1),
        (f'![x](https://evil.example "{EVENT}")', 1), (f'[x](https://evil.example "{EVENT}")', 1),
        (f'<a href="https://evil.example" title="{EVENT}">x</a>', 1), (f'<img src=x alt="{EVENT}">', 1),
        (f"<https://evil.example/{EVENT}>", 1), (f"| {EVENT} |\n|---|\n| {EVENT} <script>x</script> |", 2),
        (f"```{EVENT}\nx\n```", 0), (f"{EVENT[:-1]}</a><script>alert(1)</script>]", 0), ("https://evil.example", 0),
        (f"[{ID}#99]", 0), (f"[{ID}#0]", 0), (f"[{ID[:-1]}0#3]", 0), (f"[click]({ID})", 0),
    ],
)  # fmt: skip
def test_only_citations_of_what_is_there_are_links_and_of_the_desk(text, links):
    tags = Tags()
    tags.feed(render(text, TARGETS, WORDS))
    assert len(tags.links) == links
    assert set(tags.links) <= {"/chat/1?event=3", "/chat/1"}
