"""What a session without a title is recognised by."""

from __future__ import annotations

import pytest

from sessions_app.drafts import EventDraft
from sessions_app.summary.card import Ending, told_apart

from .test_state import call, result, said, told

EDIT = [call("b", "Edit", {"file_path": "/srv/gate.py", "old_string": "a", "new_string": "b"}), result("b")]

CALL = EventDraft("artifact", key="a", data={"type": "recording", "name": "call.wav"})
PHOTO = EventDraft("artifact", key="b", data={"type": ["image"], "name": 7})


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([said("It is seven.")], "“It is seven.”"),
        ([*EDIT, said("Mended.")], "“Mended.”"),
        ([call("a", "multiply", {"a": 1, "b": 2})], "broke off in the middle of “multiply a=1 b=2”"),
        ([EventDraft("error", key="x", text="Connection timeout")], "with an error: “Connection timeout”"),
        ([*EDIT, call("c", "ls -l"), result("c")], "1 file edited · 1 other call"),
        ([CALL, CALL], "2 recordings"),
        ([CALL, PHOTO], "1 recording “call.wav” · 1 artifact"),
    ],
    ids=["reply", "reply behind an edit", "call", "error", "calls that ended", "recordings", "recording and photo"],
)
def test_it_is_how_it_ended_or_what_it_did(events, words):
    assert " · ".join(piece.plain for piece in told_apart(told(events), Ending())) == words


def test_where_the_log_has_neither_there_is_nothing_to_tell():
    assert told_apart(told([EventDraft("note", key="a", text="removed")]), Ending()) == []
