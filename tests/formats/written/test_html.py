"""The page that opens offline: what it shows, and that nothing of a transcript acts in it."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any, get_args

import pytest

from vcon_app.drafts import EventDraft, Kind, Losses, SessionDraft, ToolDraft, Usage
from vcon_app.formats import html

from ..llmfeed.test_write import SESSION, START, Log, everything

EVIL = (
    "<script>alert(1)</script><img src=x onerror=alert(1)> [a](javascript:alert(1)) [b](data:text/html,x) "
    "![c](https://evil.example/c.png) <style>*{}</style> </pre></details></section><base href=//evil.example> "
    "\x1b[31mred\x1b[0m \u202egnp.exe\u202c zero\u200bwidth nul\0 \ud800 \" ' ` &lt;script&gt; &#x202e; <!-- -->"
)


def page(log: list[EventDraft], session: SessionDraft = SESSION, losses: Losses | None = None, **options: Any) -> str:
    return b"".join(html.write(session, Log(log), losses or Losses(), options=options)).decode()


class Reading(HTMLParser):
    """What a browser would see: tags, attributes, text; fails on tags that do not close in order."""

    VOID = frozenset({"meta", "br", "hr", "img", "link", "path"})

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text, self._open = "", []
        self.feed(source)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def having(self, name: str, value: str) -> list[str]:
        return [tag for tag, attrs in self.tags if value in (attrs.get(name) or "").split()]


LOADING = {
    "script",
    "img",
    "link",
    "iframe",
    "object",
    "embed",
    "base",
    "form",
    "input",
    "button",
    "video",
    "audio",
    "source",
}


def assert_harmless(source: str) -> Reading:
    reading = Reading(source)
    assert not {tag for tag, _ in reading.tags} & LOADING
    for tag, attrs in reading.tags:
        assert not [name for name in attrs if name.startswith("on")]
        assert not attrs.keys() & {"src", "srcset", "action", "formaction", "background", "style", "poster"}
        href = attrs.get("href") or "#"
        if tag == "a" and not href.startswith("#"):
            assert href.startswith(("https://", "http://", "mailto:"))
            assert attrs["rel"] == "noopener nofollow"
        else:
            assert href.startswith("#")
    style = source.partition("<style>")[2].partition("</style>")[0]
    assert "color-scheme" in style
    assert "@import" not in style
    assert "url(" not in style
    return reading


def everywhere(text: str) -> list[EventDraft]:
    """The text in every field of every kind of event."""
    tool = ToolDraft("c", text, text, {text: text, "command": text, "deep": [{text: text}]}, {text: text}, text)
    edit = ToolDraft("d", "Edit", None, {"file_path": text, "old_string": text, "new_string": text + "\n" + text})
    data = {text: text, "path": text, "name": text, "decision": {"title": text, "resolved": text}}
    log = [
        EventDraft(
            kind,
            f"{kind}{text}",
            START,
            "agent",
            text,
            text,
            tool,
            text,
            Usage(1),
            text,
            Decimal(1),
            None,
            depth,
            data,
            text,
        )
        for depth in (0, 1, 9)
        for kind in get_args(Kind)
    ]
    return [
        *log,
        EventDraft("tool_call", "e", tool=edit),
        EventDraft("file_change", "f", text=f"@@ x\n-{text}\n+{text}"),
    ]


def test_nothing_in_a_hostile_transcript_acts() -> None:
    hostile = SessionDraft(EVIL, EVIL, EVIL, summary=EVIL, tags=(EVIL,), user_id=EVIL, model=EVIL)
    reading = assert_harmless(page(everywhere(EVIL), hostile, origin=EVIL))
    assert "<script>alert(1)</script>" in reading.text


def test_a_summary_is_a_quotation_and_no_statement_of_the_page() -> None:
    source = page([], replace(SESSION, summary="# Signature verified\n\nApproved by Ada"))
    quoted = source.split("<blockquote>")[1].split("</blockquote>")[0]
    assert "Signature verified" in quoted and "Approved by Ada" in quoted
    assert source.count("Signature verified") == 1


def test_hidden_characters_are_visible() -> None:
    source = page(everywhere(EVIL))
    assert not [character for character in "\x1b\u202e\u202c\u200b\0\ud800" if character in source]
    assert "⟨U+202E⟩gnp.exe" in source
    assert "[31mred" not in Reading(page([EventDraft("user_message", "a", text=EVIL)])).text


def test_the_policy_allows_nothing_but_the_style_of_the_page() -> None:
    policy = next(attrs["content"] for tag, attrs in Reading(page([])).tags if attrs.get("http-equiv"))
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")


def test_the_page_is_for_light_dark_paper_and_small_screens() -> None:
    source = page([])
    for wanted in ("prefers-color-scheme: dark", "@media print", "max-width: 40rem", 'name="viewport"'):
        assert wanted in source


def test_every_turn_is_a_section_that_the_outline_links_to() -> None:
    log = [
        EventDraft("system", "s", text="first"),
        *(EventDraft("user_message", str(n), text=f"Ask {n}") for n in range(3)),
    ]
    reading = Reading(page(log))
    sections = [attrs["id"] for tag, attrs in reading.tags if tag == "section"]
    links = [attrs["href"] for tag, attrs in reading.tags if tag == "a" and "#turn-" in str(attrs["href"])]
    assert sections == ["turn-0", "turn-1", "turn-2", "turn-3"]
    assert links == ["#turn-1", "#turn-2", "#turn-3"]
    assert "Setup" in reading.text


def test_hours_and_days_between_two_turns_are_told() -> None:
    prompts = (timedelta(), timedelta(minutes=59), timedelta(hours=3), timedelta(days=2), timedelta(days=1))
    shown = page([EventDraft("user_message", f"p{at}", text="Go", at=START + at) for at in prompts])
    told = re.findall(r'<p class="pause">(.*?)</p>\s*<section id="turn-(\d)"', shown)
    assert [(re.sub("<[^>]+>", "", words), turn) for words, turn in told] == [
        ("2 h 1 m later", "3"),
        (f"1 d 21 h later · {START + prompts[3]:%A %Y-%m-%d %H:%M} UTC", "4"),
    ], "the last one's recorder wrote that it began before"


def test_the_outline_of_many_turns_is_written_in_pieces() -> None:
    log = [EventDraft("user_message", str(n), text=f"Ask {n}") for n in range(1_201)]
    pieces = [piece for piece in html.write(SessionDraft("s"), log, Losses(), options={}) if b'href="#turn-' in piece]
    assert [piece.count(b"<li>") for piece in pieces] == [500, 500, 201]


def test_a_prompt_inside_a_sub_agent_starts_no_turn_and_is_indented() -> None:
    reading = Reading(page(everything()))
    assert [attrs["id"] for tag, attrs in reading.tags if tag == "section"] == ["turn-0", "turn-1"]
    assert len(reading.having("class", "d1")) == 2


def requests() -> list[EventDraft]:
    usage, more = Usage(1_200, 38_000, 400, 3), Usage(1_200, 38_000, 400, 350)
    return [
        EventDraft("user_message", "a", START, text="Go"),
        EventDraft(
            "agent_message", "b", START, text="1", usage=usage, request="r1", cost=Decimal("0.031"), model="m-one"
        ),
        EventDraft("tool_call", "c", START + timedelta(seconds=24), usage=more, request="r1", model="m-one"),
        EventDraft("user_message", "d", START, text="On"),
        EventDraft("agent_message", "e", START, text="2", usage=Usage(output_tokens=5), request="r2"),
    ]


def test_a_response_is_counted_once_with_its_greatest_output() -> None:
    text = Reading(page(requests())).text
    assert "1.2 k in · 38.0 k cache read · 400 cache write · 350 out · $0.031 · 24 s" in text
    assert "40.0 k (1.2 k in" in text


def test_unpriced_usage_makes_the_total_a_lower_bound() -> None:
    text = Reading(page(requests())).text
    assert "≥ $0.031" in text
    assert "— in · — cache read · — cache write · 5 out" in text
    assert "Cost—" in Reading(page([EventDraft("user_message", "a", text="x")])).text


def test_prices_of_the_desk_take_the_place_of_stated_ones() -> None:
    costs = {1: {"amount": "2.50", "unpriced_tokens": 0}, 2: {"amount": None, "unpriced_tokens": 5}}
    text = Reading(page(requests(), costs=costs)).text
    assert "$2.50" in text
    assert "≥ $2.50" in text
    assert "$0.031" not in text


def test_a_result_stands_on_the_card_of_its_call_and_links_to_both_work() -> None:
    call = EventDraft("tool_call", "c", tool=ToolDraft("t", "Bash", None, {"command": "make test"}))
    result = EventDraft(
        "tool_result", "r", text="boom\nbang", tool=ToolDraft("t", status="error", result={"exitCode": 2})
    )
    between = [EventDraft("note", f"n{n}", text="x") for n in range(5)]
    source = page([call, *between, result])
    reading = Reading(source)
    assert "run make test error · exit 2 · 2 lines" in reading.text
    assert {"e1", "e7"} <= {attrs.get("id") for _, attrs in reading.tags}
    assert len(reading.having("class", "tool-result")) == 0
    assert "boom" in source


def test_a_result_that_comes_much_later_has_a_card_of_its_own() -> None:
    call = EventDraft("tool_call", "c", tool=ToolDraft("t", "Bash", None, {"command": "make"}))
    between = [EventDraft("note", f"n{n}", text="x") for n in range(100)]
    reading = Reading(page([call, *between, EventDraft("tool_result", "r", parent="c", text="late")]))
    assert len(reading.having("class", "tool-result")) == 1
    assert "no result here" in reading.text


def test_an_edit_is_a_diff() -> None:
    edit = {"file_path": "/a.py", "old_string": "one\ntwo", "new_string": "one\n2"}
    reading = Reading(page([EventDraft("tool_call", "c", tool=ToolDraft("t", "Edit", None, edit))]))
    assert (len(reading.having("class", "add")), len(reading.having("class", "del"))) == (1, 1)
    assert "/a.py +1 −1" in reading.text


@pytest.mark.parametrize("kind", ["reasoning", "system", "injected_context", "tool_call", "unknown"])
def test_what_is_not_read_first_is_folded(kind: Kind) -> None:
    reading = Reading(page([EventDraft(kind, "a", text="some words", tool=ToolDraft("t", "x", None, {"a": 1}))]))
    assert [tag for tag, _ in reading.tags].count("details") >= 1
    assert not [tag for tag, attrs in reading.tags if tag == "details" and "open" in attrs]


def test_reasoning_without_text_says_that_it_was_not_recorded() -> None:
    assert "not recorded" in Reading(page([EventDraft("reasoning", "a")])).text


def test_the_raw_payload_of_an_unknown_event_is_there() -> None:
    assert "very-strange" in page([EventDraft("unknown", "a", data={"raw": {"type": "very-strange"}})])


def test_the_header_tells_the_session() -> None:
    made = datetime(2026, 4, 1, 12, tzinfo=UTC)
    text = Reading(
        page(everything(), replace(SESSION, title=""), generated_at=made, origin="https://desk.example")
    ).text
    for wanted in (
        "Session run-1", "carpenter", "2026-03-01 08:00 UTC", "9 m", "m-1, m-2", "saw ×1", "garden, wood",
        "The fence stands.", "Exported by Countersign 2026-04-01 12:00 UTC from https://desk.example",
    ):  # fmt: skip
        assert wanted in text


def test_errors_are_counted_from_error_events_and_failed_results() -> None:
    failed = EventDraft("tool_result", "r", tool=ToolDraft("t", status="error"))
    log = [EventDraft("user_message", "a", text="x"), EventDraft("error", "b", text="down"), failed]
    assert "2 errors" in Reading(page(log)).text


def test_data_that_is_not_shown_is_a_loss() -> None:
    losses = Losses()
    page([EventDraft("status", "a", text="x", data={"hidden": 1})], replace(SESSION, metadata={}), losses)
    assert [row["count"] for row in losses.rows()] == [1]


def test_a_session_without_events_is_a_page() -> None:
    assert "No events." in Reading(page([], SessionDraft("x"))).text


def test_the_page_is_written_in_pieces_in_two_walks() -> None:
    log = Log([EventDraft("agent_message", str(n), text="x" * 50) for n in range(3_000)])
    pieces = list(html.write(SESSION, log, Losses(), options={}))
    assert log.walks == 2
    assert max(map(len, pieces[1:])) < 2_000
