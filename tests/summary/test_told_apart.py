"""What a session without a title is recognised by."""

from __future__ import annotations

import pytest

from sessions_app.drafts import EventDraft
from sessions_app.summary.card import Ending, told_apart

from .test_state import call, result, said, told

EDIT = [call("b", "Edit", {"file_path": "/srv/gate.py", "old_string": "a", "new_string": "b"}), result("b")]


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([said("It is seven.")], "“It is seven.”"),
        ([*EDIT, said("Mended.")], "“Mended.”"),
        ([call("a", "multiply", {"a": 1, "b": 2})], "broke off in the middle of “multiply a=1 b=2”"),
        ([EventDraft("error", key="x", text="Connection timeout")], "with an error: “Connection timeout”"),
        ([*EDIT, call("c", "ls -l"), result("c")], "1 file edited · 1 other call"),
    ],
    ids=["reply", "reply behind an edit", "call", "error", "calls that ended"],
)
def test_it_is_how_it_ended_or_what_it_did(events, words):
    piece = told_apart(told(events), Ending())
    assert piece and piece.plain == words


def test_where_the_log_has_neither_there_is_nothing_to_tell():
    assert told_apart(told([EventDraft("artifact", key="a", text="recording.wav")]), Ending()) is None
