"""The transcript in Markdown: what it tells, and that no message leaves the place it was put in."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from tests.places import SAMPLES
from vcon_app.drafts import EventDraft, Losses, SessionDraft, ToolDraft, Usage
from vcon_app.formats import markdown
from vcon_app.formats.markdown.prose import fence, line, prose, span

from ..golden import check
from ..llmfeed.test_write import SESSION, START, Log, everything

STRICT = MarkdownIt("commonmark", {"html": True})
WIDE = MarkdownIt("gfm-like", {"html": True, "linkify": False})
HOSTILE = [
    "```\nnever closed",
    "````md\n```\nx\n```",
    "~~~\nnever closed\n```",
    "<script>alert(1)</script> and `<b>` and <!-- hidden",
    "\\<img src=x onerror=alert(1)>",
    "a ` b\n` <script>x</script> `",
    "| a | b |\n|---|---|\n| ` | <script>x</script> ` |",
    "- ```\nfoo\n<script>x</script>",
    "- a\n  ```\n<script>x</script>",
    "> ```\n<script>x</script>",
    "\\`<script>x</script>`",
    "# Turn 9\n\n## Turn 9\n\nTurn 9\n======\n\nTurn 9\n---\n\n> # quoted\n\n- # listed\n\n1. ## numbered",
    "![x](https://evil.example/p.png) ![y][z]\n\n[z]: data:text/html,1",
    "[a](javascript:alert(1)) [b](&#x6a;avascript:alert(1)) [c](<javascript:alert(1)>) <javascript:alert(1)>",
    "[a](\njavascript:alert(1))\n\n[r]\n\n[r]:\njavascript:alert(1)",
    "<div>\n\n```\n</div>\n<script>x</script>\n```",
    "    <script>indented code</script>",
    "</details></td></table><style>*{}</style>",
    "\x1b[31mred\x1b[0m \u202egnp.exe\u202c nul\0 \ud800",
    "<" * 50 + "a>",
    "`" * 5_000,
    "[" * 5_000,
    "> " * 3_000 + "# x",
    "> " * 3_000 + "x",
    "x\n" + "- " * 3_000 + "x\n\n```\nnever closed",
    "> " * 17 + "<b>x\n\n```\nnever closed",
    "\\`" * 3_000,
    "]:" * 3_000 + " " * 3_000,
]


class Page(HTMLParser):
    """What a renderer that allows raw HTML would show: headings, links, and every element."""

    def __init__(self, text: str, renderer: MarkdownIt) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.headings: list[tuple[str, str]] = []
        self._heading = ""
        self.feed(renderer.render(text))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag in ("h1", "h2", "h3", "h4"):
            self._heading = tag
            self.headings.append((tag, ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == self._heading:
            self._heading = ""

    def handle_data(self, data: str) -> None:
        if self._heading:
            self.headings[-1] = (self._heading, self.headings[-1][1] + data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment hides {data!r}")


KNOWN = {
    "h1", "h2", "h3", "h4", "h5", "h6", "p", "ul", "ol", "li", "code", "pre", "em", "strong", "blockquote", "a", "hr",
    "table", "thead", "tbody", "tr", "th", "td", "br", "s",
}  # fmt: skip


def written(log: list[EventDraft], session: SessionDraft = SESSION, losses: Losses | None = None, **options) -> str:
    return b"".join(markdown.write(session, Log(log), losses or Losses(), options=options)).decode()


def after(text: str, depth: int = 0) -> list[EventDraft]:
    return [
        EventDraft("user_message", "a", actor_kind="person", text="Begin"),
        EventDraft("agent_message", "b", actor_kind="agent", text=text, depth=depth),
        EventDraft("agent_message", "c", actor_kind="agent", text="**The end** of it.", depth=depth),
        EventDraft("reasoning", "d", text=text, depth=depth),
        EventDraft("note", "e", text="**Last** words.", depth=0),
    ]


@pytest.mark.parametrize("renderer", [STRICT, WIDE], ids=["commonmark", "gfm"])
@pytest.mark.parametrize("depth", [0, 2])
@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_no_message_breaks_out_or_acts(number, depth, renderer):
    page = Page(written(after(HOSTILE[number], depth)), renderer)
    assert set(page.tags) <= KNOWN
    assert all(link.startswith(("https://", "http://", "mailto:")) for link in page.links)
    own, speaker = [text for tag, text in page.headings], "Sub-agent" if depth else "Agent"
    assert own == [
        "Mend the fence", "Turn 1 · Begin", "1 · Person", f"2 · {speaker}", f"3 · {speaker}",
        "4 · Reasoning", "5 · Note",
    ]  # fmt: skip
    assert page.tags.count("strong") == 2, "what follows is no longer read as Markdown"


def test_random_heaps_of_markup_neither_break_out_nor_act():
    pieces = [
        "`", "```", "~~~", "\n", "\n\n", "> ", "- ", "    ", "<script>", "</b>", "<!--", "![", "[a]", "](", "]: ",
        "javascript:x", ")", "# x", "---", "===", "|", "\\", "text", "1. ", "\t", "&lt;", "<?", "<a@b.c>",
    ]  # fmt: skip
    chance = random.Random(7)
    for _ in range(400):
        text = "".join(chance.choice(pieces) for _ in range(chance.randrange(2, 24)))
        log = [EventDraft("user_message", "a", text=text), EventDraft("note", "b", text="**Last** words.")]
        for renderer in (STRICT, WIDE):
            page = Page(written(log), renderer)
            assert set(page.tags) <= KNOWN, text
            assert all(link.startswith(("https://", "http://", "mailto:")) for link in page.links), text
            assert page.headings[-1] == ("h4", "2 · Note"), text


def test_the_same_text_in_every_other_place_stays_text():
    evil = "x | y <script>alert(1)</script> ![a](https://evil.example/b) `c` *d* \n# e"
    session = replace(SESSION, title=evil, agent_name=evil, user_id=evil, tags=(evil,), summary=evil, external_id=evil)
    tool = ToolDraft("t", evil, evil, {evil: evil, "command": evil})
    log = [
        EventDraft("user_message", "a", actor_name=evil, text=evil, model=evil),
        EventDraft("tool_call", "b", tool=tool),
        EventDraft("tool_result", "c", text=f"```\n{evil}", tool=ToolDraft("t", status=evil, result={evil: [evil]})),
        EventDraft("artifact", "d", text=evil, data={"name": evil}),
        EventDraft("file_change", "e", text=f"--- a\n+++ b/{evil}\n@@ -1 +1 @@\n-```\n+{evil}", data={"path": evil}),
        EventDraft("unknown", "f", data={"raw": evil}),
    ]
    for renderer in (STRICT, WIDE):
        page = Page(written(log, session), renderer)
        assert set(page.tags) <= KNOWN  # an image is a link; nothing loads it
        assert set(page.links) == {"https://evil.example/b"}
        assert [tag for tag, _ in page.headings] == ["h1", "h2", "h3", "h4", "h4", "h4", "h4"]


def test_markdown_of_messages_is_left_as_it_is():
    text = "See [it](https://example.com/a), `List<int>` and 3 < 4:\n\n```html\n<b>bold</b>\n```\n\n- one\n\n***"
    assert list(prose(text)) == text.split("\n")


def test_headings_of_a_message_stand_below_those_of_the_file():
    assert list(prose("# A\n\n### B\n\nC\n---")) == ["##### A", "", "###### B", "", "C", "\\---"]


def test_a_fence_is_longer_than_any_inside():
    assert list(fence("a\n````\nb")) == ["`````", "a", "````", "b", "`````"]
    assert list(prose("~~~\nx")) == ["~~~", "x", "~~~"]
    assert span("a`b") == "``a`b``" and line("a|b*") == "a\\|b\\*"


def test_a_message_of_a_megabyte_is_shown_in_a_fence():
    lines = list(prose("word " * 300_000))
    assert lines[0] == "```" and lines[-1] == "```"


def log_of_a_garden() -> list[EventDraft]:
    at = datetime(2026, 5, 5, 6, 30, tzinfo=UTC)
    edit = {"file_path": "beds.txt", "old_string": "tulips", "new_string": "leeks"}
    return [
        EventDraft("system", "a", at, "system", text="You keep a garden."),
        EventDraft("user_message", "b", at, "person", "Mira", "Plant leeks instead.\n\n# Now"),
        EventDraft("reasoning", "c", at, "agent", text="Leeks need room."),
        EventDraft("tool_call", "d", at, "agent", "gardener", tool=ToolDraft("t1", "Edit", None, edit),
                   model="m-1", usage=Usage(100, 2_000, None, 30), request="r1", cost=Decimal("0.02")),
        EventDraft("tool_result", "e", at, "tool", "Edit", "1 line changed", ToolDraft("t1", status="ok"), parent="d"),
        EventDraft("tool_call", "f", at, "agent", "gardener", tool=ToolDraft("t2", "Task", None, {"prompt": "Water"})),
        EventDraft("user_message", "g", None, "agent", "gardener", "Water the beds", depth=1, parent="f"),
        EventDraft("agent_message", "h", None, "subagent", "hose", "Done:\n\n```\n5 litres\n```", depth=1, parent="f"),
        EventDraft("tool_result", "i", at, "tool", "Task", "", ToolDraft("t2", result={"litres": 5}), parent="f"),
        EventDraft("user_message", "j", at, "person", "Mira", "And the roses?"),
        EventDraft("error", "k", at, text="the gate is locked"),
        EventDraft("approval", "l", at, "person", "Mira", "allowed", data={"decision": {"verdict": "approved"}}),
        EventDraft("agent_message", "m", at, "agent", "gardener", "Later.", None, "m-1", Usage(7, output_tokens=3)),
    ]  # fmt: skip


def test_a_transcript_reads_as_it_did():
    text = written(
        log_of_a_garden(), replace(SESSION, title="Leeks"), origin="https://desk.example", generated_at=START
    )
    check(SAMPLES / "markdown" / "garden.md", text)


def test_costs_of_the_desk_replace_those_of_the_recorder():
    costs = {1: {"amount": "0.5", "unpriced_tokens": 0}, 2: {"amount": None, "unpriced_tokens": 10}}
    text = written(log_of_a_garden(), costs=costs)
    assert "| Cost | ≥ $0.50 |" in text and "· $0.50 ·" in text


def test_nothing_known_is_a_dash_and_never_0():
    text = written([], SessionDraft("s"))
    assert "| Tokens | — |" in text and "| Cost | — |" in text and "*No events.*" in text


def test_values_left_out_are_losses():
    losses = Losses()
    written(everything(), replace(SESSION, record={"llmfeed": {"x": 1}}), losses)
    told = " ".join(row["what"] for row in losses.rows())
    for part in ("details of events", "structured results", "facts about the session", "parts of the llmfeed file"):
        assert part in told


def test_every_kind_of_event_is_written():
    text = written(everything())
    for event in everything():
        assert not event.text or event.text.removeprefix("# ") in text


def test_the_log_is_walked_twice_and_never_held():
    log = Log([EventDraft("note", str(n), text="x") for n in range(500)])
    pieces = list(markdown.write(SESSION, log, Losses(), options={}))
    assert log.walks == 2 and len(pieces) > 500
