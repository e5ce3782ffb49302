"""The overview of a session and its waterfall over the API."""

from __future__ import annotations

from decimal import Decimal

from tests.services.build import answer, append, call, event, result, user

from ..client import ok, pointers, refused


def test_the_whole_run_in_buckets(api, session):
    append(
        session, user(), call("1", "Bash"), result("1", "error", text="boom\nmore"), event("compaction"),
        answer(request="r", model="m", cost=Decimal("0.5"), output_tokens=3),
    )  # fmt: skip
    found = ok(api.get(f"sessions/{session.pk}/overview"))
    assert (found["step"], found["read_to_seq"], found["last_seq"]) == (1, 5, 5)
    assert found["lanes"]["run"] == [0, 1, 0, 0, 0] == found["lanes"]["errors"]
    assert found["lanes"]["compactions"] == [0, 0, 0, 1, 0]
    assert [None if cost is None else Decimal(cost) for cost in found["costs"]] == [None] * 4 + [Decimal("0.5")]
    assert found["errors"] == [{"seq": 2, "text": "boom"}]
    assert found["turns"] == [1] * 5 and found["columns"] is None
    assert found["summary"] == "5 events in 1 turn. 1 error, at event 2. 1 compaction, at event 4. Cost $0.50."


def test_spans_by_time(api, session):
    append(session, user(), call("1", "Bash"), result("1"))
    found = ok(api.get(f"sessions/{session.pk}/waterfall"))
    assert [(span["kind"], span["depth"], span["seq"]) for span in found["items"]] == [
        ("turn", 0, 1), ("request", 1, 2), ("call", 2, 2),
    ]  # fmt: skip
    assert {span["duration_ms"] for span in found["items"]} == {None} and found["next_after"] is None
    assert ok(api.get(f"sessions/{session.pk}/waterfall?after=99"))["items"] == []
    assert pointers(refused(api.get(f"sessions/{session.pk}/waterfall?after=-1"), 422)) == {"/after"}


def test_an_empty_session_has_an_empty_run(api, session):
    found = ok(api.get(f"sessions/{session.pk}/overview"))
    assert found["turns"] == [] and found["read_to_seq"] == 0


def test_of_another_workspace_there_is_nothing(stranger, session):
    for what in ("overview", "waterfall"):
        refused(stranger.get(f"sessions/{session.pk}/{what}"), 404)
