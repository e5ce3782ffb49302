"""What happened stands at the top of a page and of a transcript, told from the events that are written."""

from __future__ import annotations

import re

from vcon_app.drafts import EventDraft, Losses, SessionDraft, ToolDraft
from vcon_app.formats import html, markdown

EVIL = "<script>alert(1)</script> | evil"


def events(prompt: str) -> list[EventDraft]:
    return [
        EventDraft("user_message", "p", text=prompt),
        EventDraft("tool_call", "c", tool=ToolDraft("1", "Bash", arguments={"command": "pytest"})),
        EventDraft("tool_result", "r", parent="c", text=f"E {EVIL}", tool=ToolDraft("1", status="error")),
        EventDraft("tool_call", "d", tool=ToolDraft("2", "Bash", arguments={"command": "make"})),
    ]


def written(format_, log: list[EventDraft], phase: str | None = None) -> str:
    session = SessionDraft("s", title="Gate", phase=phase)
    return b"".join(format_.write(session, log, Losses(), options={})).decode()


def test_a_page_says_what_happened_and_leads_to_the_events():
    page = written(html, events("Mend the gate."))
    assert '<a href="#e1"><q dir="auto">Mend the gate.</q></a>' in page
    assert 'id="e2"' in page and '<a class="wrong" href="#e2">' in page
    assert "broke off in the middle of" in page and "<script>" not in page
    assert "no result yet of" in written(html, events("Mend the gate."), phase="active")


def test_a_page_of_a_file_that_ends_in_the_middle_of_a_call_does_not_call_it_completed():
    log = events("Mend the gate.")
    ended = re.compile(r"<dt>Ended as</dt><dd>([^<]*)</dd>")
    done = [*log[:3], EventDraft("agent_message", "m", text="Done.")]
    pages = (written(html, log, "completed"), written(html, done, "completed"), written(html, log, "timed_out"))
    assert [ended.search(page)[1] for page in pages] == ["broke off", "completed", "timed out"]
    assert "<dt>Times</dt><dd>in UTC</dd>" in pages[0]


def test_a_transcript_says_it_in_its_table():
    text = written(markdown, events("Mend the gate."))
    assert "| Asked | “Mend the gate.” |" in text and "| Tests | pytest: failed |" in text
    assert "<script>" not in text.partition("\n## ")[0]


def test_it_tells_nothing_that_the_written_events_do_not():
    for format_ in (html, markdown):
        assert "PQ4711" in written(format_, events("Refund order PQ4711."))
        assert "PQ4711" not in written(format_, events("Refund order ████."))


def test_a_session_without_events_has_none():
    assert 'class="happened"' not in written(html, []) and "| Asked |" not in written(markdown, [])
