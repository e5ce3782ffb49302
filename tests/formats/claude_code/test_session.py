"""What is known of the session as a whole: id, title, times, sub-agents, and doubts about its tokens."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from .lines import SESSION, assistant, call, drafts, drafts_of, events, findings, jsonl, last_session, line, text, user

PROMPT = user("u1", "Prune the pear tree.")


def summary(words: str, leaf: str) -> dict[str, object]:
    return {"type": "summary", "summary": words, "leafUuid": leaf}


def ai_title(words: str) -> dict[str, object]:
    return {"type": "ai-title", "aiTitle": words, "sessionId": SESSION}


def custom_title(words: str) -> dict[str, object]:
    return {"type": "custom-title", "customTitle": words, "sessionId": SESSION}


def test_a_persons_title_beats_a_generated_one_and_that_a_summary() -> None:
    lines = [summary("Pears", "u1"), PROMPT, custom_title("Orchard"), ai_title("Pruning")]
    assert [last_session(drafts(*lines[:n])).title for n in (2, 3, 4)] == ["Pears", "Orchard", "Orchard"]
    assert last_session(drafts(PROMPT, ai_title("Pruning"), ai_title("Pruning pears"))).title == "Pruning pears"


def test_a_summary_of_another_session_is_no_title() -> None:
    assert last_session(drafts(PROMPT, summary("Plums", "elsewhere"))).title == ""
    assert last_session(drafts(summary("Plums", "x"), summary("Figs", "y"), PROMPT)).title == ""
    assert last_session(drafts(summary("Plums", "x"), summary("Pears", "u1"), PROMPT)).title == "Pears"


def test_a_summary_that_stands_alone_before_the_first_line_is_the_title_of_a_resumed_session() -> None:
    assert last_session(drafts(summary("Pears", "in-the-file-before"), PROMPT)).title == "Pears"


def test_lines_before_the_session_id_wait_for_it() -> None:
    found = drafts(*[summary(f"s{n}", f"l{n}") for n in range(30)], PROMPT)
    assert found[0].external_id == SESSION
    assert found[0].metadata["environment"] == {"cwd": "/srv/orchard"}
    assert len(events(found)) == 31


def test_a_file_without_any_session_id_is_named_by_its_first_line() -> None:
    lines = [summary("Pears", "x"), {"type": "user", "message": {"content": "Prune."}}]
    ids = {last_session(drafts(*lines[:n])).external_id for n in (1, 2)}
    assert len(ids) == 1 and ids.pop().startswith("claude-code-")


def test_a_session_id_that_comes_too_late_does_not_rename_the_session() -> None:
    late = [{"type": "mode", "mode": str(n)} for n in range(300)]
    found = drafts_of(jsonl(*late, PROMPT, {"type": "mode", "mode": "x" * 300_000}))
    assert found[0].external_id == last_session(found).external_id


def test_times_are_the_earliest_and_the_latest_of_all_lines() -> None:
    times = ["2026-10-05T10:00:00+02:00", "2026-10-05T07:30:00Z", "2026-10-05T09:00:00.250Z", "not a time", None]
    found = drafts(*[line("mode", f"m{n}", timestamp=time) for n, time in enumerate(times)])
    session = last_session(found)
    assert session.started_at == datetime(2026, 10, 5, 7, 30, tzinfo=UTC)
    assert session.ended_at == datetime(2026, 10, 5, 9, 0, 0, 250000, tzinfo=UTC)
    assert [event.at is None for event in events(found)] == [False, False, False, True, True]
    assert findings(found)["claude-code.time"].path == "L4"


def test_a_sub_agents_own_file_is_a_session_below_its_parent() -> None:
    side = {"isSidechain": True, "agentId": "b7"}
    found = drafts(user("s1", "Count the buds.", **side), assistant("s2", text("Nine."), **side))
    session = last_session(found)
    assert (session.external_id, session.parent_external_id) == (f"{SESSION}/agent-b7", SESSION)
    assert [(e.kind, e.actor_kind, e.depth) for e in events(found)] == [
        ("user_message", "agent", 0),
        ("agent_message", "subagent", 0),
    ]


@pytest.mark.parametrize(
    "told",
    [
        {"agentId": "b7"},
        {"parentUuid": "a1"},
        {"parentUuid": "nobody"},
    ],
    ids=["agent id", "line before", "prompt alone"],
)
def test_a_sub_agent_inside_its_parents_file_hangs_below_its_call(told: dict[str, str]) -> None:
    task = assistant("a1", call("t1", "Task", prompt="Count the buds.", subagent_type="Counter"))
    opened = user("s1", "Count the buds.", isSidechain=True, **told)
    answer = assistant("s2", text("Nine."), isSidechain=True, parentUuid="s1")
    below = events(drafts(PROMPT, task, opened, answer, assistant("a2", text("Nine buds."))))[2:]
    assert [(event.depth, event.parent) for event in below] == [(1, "a1"), (1, "a1"), (0, None)]
    assert below[1].actor_name == "Counter"


def test_a_sub_agent_of_a_sub_agent_is_two_levels_down() -> None:
    side = {"isSidechain": True}
    lines = [
        assistant("a1", call("t1", "Task", prompt="Count.")),
        user("s1", "Count.", **side),
        assistant("s2", call("t2", "Task", prompt="Count the left side."), parentUuid="s1", **side),
        user("d1", "Count the left side.", **side),
    ]
    assert [event.depth for event in events(drafts(PROMPT, *lines))[1:]] == [0, 1, 1, 2]


def test_progress_tells_which_call_started_an_agent() -> None:
    started = line("progress", "p1", data={"type": "agent_progress", "agentId": "b7"}, parentToolUseID="t1")
    lines = [assistant("a1", call("t1", "Task")), started, user("s1", "Count.", isSidechain=True, agentId="b7")]
    assert [event.parent for event in events(drafts(PROMPT, *lines))[2:]] == ["a1", "a1"]


def test_the_greatest_output_of_a_response_is_what_its_text_is_measured_by() -> None:
    words = text("Cut above the bud, at an angle, with a clean blade. " * 4)

    def told(*outputs: int) -> bool:
        lines = [
            assistant(f"a{n}", words, id=f"m{n // 2}", usage={"output_tokens": output})
            for n, output in enumerate(outputs)
        ]
        return "claude-code.placeholder-output" in findings(drafts(PROMPT, *lines))

    assert not told(2, 104, 2, 104, 1, 3)
    assert told(2, 104, 2, 3, 1, 3)


def test_a_cost_stated_on_an_old_line_is_kept_to_the_cent_fraction() -> None:
    found = events(drafts(assistant("a1", text("x"), id="m1", usage={"output_tokens": 3}, costUSD=0.1234567)))
    assert found[0].cost == Decimal("0.1234567")


def test_synthetic_messages_of_claude_code_cost_nothing() -> None:
    usage = {"input_tokens": 5, "output_tokens": 5}
    made = assistant("a1", text("No response requested."), model="<synthetic>", usage=usage)
    failed = assistant("a2", text("Overloaded"), isApiErrorMessage=True, usage=usage)
    assert [(event.kind, event.usage) for event in events(drafts(made, failed))] == [("system", None), ("error", None)]


def test_a_stated_total_counts_on_after_a_connection_starts_again() -> None:
    init = {"type": "system", "subtype": "init", "session_id": "s", "tools": [], "uuid": "i"}
    totals = [{"type": "result", "subtype": "success", "session_id": "s", "uuid": f"r{n}", "total_cost_usd": cost}
              for n, cost in enumerate((0.25, 0.75, 0.5))]  # fmt: skip
    found = drafts(init, *totals)
    assert last_session(found).metadata["total_cost_usd"] == "1.25"
    assert [event.cost for event in events(found)] == [None, Decimal("0.25"), Decimal("0.5"), Decimal("0.5")]
