"""The summary while events come in: what is kept of them, and that it does not matter in how many pieces they come."""

from __future__ import annotations

import random
from typing import Any

import orjson
import pytest

from sessions_app.drafts import EventDraft, ToolDraft
from sessions_app.phrases import in_language
from sessions_app.summary.card import Ending, lines_of, plain
from sessions_app.summary.state import Summary


def told(events: list[EventDraft], every: int = 0) -> Summary:
    """The summary of events; stored and read again after each ``every``."""
    summary, seqs = Summary(), {}
    for seq, event in enumerate(events, start=1):
        summary.take(seq, seqs.get(event.parent), event)
        seqs[event.key] = seq
        if every and seq % every == 0:
            summary = Summary(orjson.loads(orjson.dumps(summary.stored())))
    return summary


def asked(text: str, **more: Any) -> EventDraft:
    return EventDraft("user_message", key=f"p{text}", text=text, **more)


def said(text: str) -> EventDraft:
    return EventDraft("agent_message", key=f"m{text}", text=text)


def call(key: str, name: str = "Bash", arguments: Any = None, **more: Any) -> EventDraft:
    arguments = {"command": arguments} if isinstance(arguments, str) else arguments
    return EventDraft("tool_call", key=key, tool=ToolDraft(key, name, arguments=arguments), **more)


def result(of: str, text: str = "", status: str | None = "ok") -> EventDraft:
    return EventDraft("tool_result", key=f"{of}r", parent=of, text=text, tool=ToolDraft(of, status=status))


def card(events: list[EventDraft], **ending: bool) -> str:
    return plain(lines_of(told(events), Ending(**ending)))


RUN = [
    asked("Mend the gate. Soon."),
    call("a", "Read", {"file_path": "/g.py"}), result("a", "File does not exist", "error"),
    call("b", "Edit", {"file_path": "/srv/gate.py", "old_string": "a", "new_string": "b"}), result("b"),
    call("c", arguments="make test"), result("c", "===== 1 failed, 2 passed in 1s =====", "error"),
    call("d", "Edit", {"file_path": "/srv/gate.py", "old_string": "b", "new_string": "c"}), result("d"),
    call("e", arguments="make test | tail"), result("e", "===== 3 passed in 1s ====="),
    call("f", "Task", {"description": "look"}), result("f"),
    call("g", "WebFetch", {"url": "https://example.org"}), result("g"),
    said("The gate is mended.\n\n## Details\nA hinge was loose."),
]  # fmt: skip


def test_the_card_of_a_run():
    assert card(RUN).split("\n") == [
        "Asked: “Mend the gate.”",
        "Did: 1 file edited · 2 commands · 1 sub-agent · 1 web page · 1 other call",
        "Ended: “The gate is mended. A hinge was loose.”",
        "Went wrong: “Read: File does not exist” · “Bash: 1 failed, 2 passed in 1s” recovered",
        "Tests: make test: passed “3 passed in 1s” the last of 2 runs",
    ]


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ([call("t", arguments="pytest")], "no result"),
        ([call("t", arguments="pytest | tail"), result("t", "done")], "outcome unknown"),
        ([call("t", arguments="pytest"), result("t", "2 passed in 1s")], "passed"),
    ],
)
def test_how_a_test_run_ended_is_a_message(events, outcome):
    (piece,) = next(line for line in lines_of(told([asked("Go"), *events]), Ending()) if line.label == "Tests").pieces
    assert piece.text == f"pytest: {outcome}"
    assert in_language(piece.text, lambda one, *_: one if "%" in one else f"[{one}]") == f"pytest: [{outcome}]"


def test_calls_behind_the_last_message_are_told():
    events = [asked("Go"), said("I will look."), call("a", arguments="ls"), result("a", "x")]
    assert "Ended: “I will look.” · then calls without a message, the last at event 4" in card(events)
    assert "then calls" not in card([*events, said("Done.")])
    assert "then calls" not in card(events, goes_on=True)
    assert "then calls" not in card(events[:3]), "it broke off in that one"


def test_to_look_at_a_file_is_no_edit():
    looks = call("a", "str_replace_editor", {"command": "view", "path": "/srv/gate.py"})
    assert "Did: 1 other call" in card([asked("Go"), looks, result("a", "x"), said("Seen.")])


def test_of_alike_failures_the_place_of_the_last_is_known():
    events = [asked("Go")]
    for number in range(3):
        events += [
            call(f"c{number}", "Edit", {"file_path": f"/a{number}"}),
            result(f"c{number}", f"no '{number}' found", "error"),
        ]
    (group,) = told(events).failures.groups
    assert (group.count, group.first, group.last, group.is_recovered) == (3, 2, 6, False)
    events += [call(f"d{number}", "Edit", {"file_path": f"/a{number}"}) for number in range(3)]
    events += [result(f"d{number}") for number in range(3)]
    assert told(events).failures.groups[0].is_recovered


def test_another_object_recovers_nothing():
    events = [call("a", arguments="make a"), result("a", "no", "error"), call("b", arguments="make b"), result("b")]
    assert told(events).failures.groups[0].is_recovered is False


def test_an_error_that_no_call_had_is_recovered_when_the_run_goes_on():
    events = [asked("Go"), EventDraft("error", key="e", text="overloaded")]
    assert "Ended: with an error: “overloaded”" in card(events)
    assert told(events).failures.groups[0].is_recovered is False
    assert told([*events, said("Here I am")]).failures.groups[0].is_recovered is True


@pytest.mark.parametrize(
    ("events", "ending", "expected"),
    [
        ([asked("Go"), call("a", arguments="make a"), result("a"), call("b", arguments="make b")], {},
         "Ended: broke off in the middle of “Bash make b”"),
        ([asked("Go"), call("a", arguments="make a"), result("a"), call("b", arguments="make b")], {"goes_on": True},
         "Ended: now at “Bash make b”"),
        ([asked("Go"), call("a"), call("b"), said("Done")], {}, "Ended: “Done”"),
        ([asked("Go"), call("a"), call("b")], {}, "Ended: broke off in the middle of “Bash”"),
        ([asked("Go"), call("a"), result("a"), call("b", "finish", {"message": "All done"})], {},
         "Ended: by calling “finish message=All done”"),
        ([asked("Go"), call("a"), result("a"), call("b", "mcp__task__submit")], {},
         "Ended: by calling “mcp__task__submit”"),
        ([asked("Go"), said("Done"), asked("More")], {}, "Ended: no reply to the last prompt"),
        ([asked("Go"), call("a"), result("a")], {}, "Ended: without a message of the agent"),
        ([], {}, "Ended: without a message of the agent"),
    ],
)  # fmt: skip
def test_how_it_ended(events, ending, expected):
    assert expected in card(events, **ending).split("\n")


def test_a_failure_without_a_reason_is_told_with_its_object():
    events = [
        call("a", arguments="make gate"), result("a", "Error", "error"),
        call("b", arguments="ls"), result("b", "", "error"),
    ]  # fmt: skip
    assert "Went wrong: “Bash: make gate: Error” · “Bash: ls”" in card(events)


def test_prompts_of_sub_agents_are_no_prompts():
    assert told([asked("Go"), asked("Look", depth=1, parent="pGo")]).asked == 1


def test_an_edit_that_failed_edits_nothing():
    events = [call("a", "Edit", {"file_path": "/a", "old_string": "a", "new_string": "b"}), result("a", "no", "error")]
    assert "edited" not in card(events) and "1 edit" in card(events)


def test_a_view_of_a_file_is_no_edit():
    assert told([call("a", "str_replace_editor", {"command": "view", "path": "/a"}), result("a")]).edits == 0


def test_a_patch_in_a_command_edits_its_files():
    patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** End Patch\nEOF"
    assert len(told([call("a", "shell", {"command": ["bash", "-lc", patch]}), result("a")]).files) == 1


def odd(chance: random.Random, number: int) -> list[EventDraft]:
    """An event that is made up, with its result in some cases."""
    words = ["a\0b", "\ud800", "x" * 9_000, '{"a":\\n1}', "門" * 300, "no\nerror: 7", "", "===== 1 failed in 1s ====="]
    text = chance.choice(words)
    name = chance.choice(["Bash", "Edit", "WebFetch", "Task", "", "門" * 99, "mcp__a__b"])
    file = {"file_path": f"/f{number % 400}", "content": text}
    commands = [{"command": f"make test{number % 5}"}, {"command": ["bash", "-c", "pytest"]}]
    arguments = chance.choice([*commands, file, None, "words", ["bash", 1]])
    key = f"k{number}" * chance.choice([1, 20])
    made = chance.choice([
        [asked(f"{text}{number}")], [said(f"{text}{number}")],
        [EventDraft("error", key=key, text=text, data={"message": text})],
        [call(key, name, arguments, depth=chance.choice([0, 1]))],
        [call(key, name, arguments), result(key, text, chance.choice(["ok", "error", "denied", None]))],
        [call(key, name, arguments), result(key, text, chance.choice(["ok", "error"]))],
    ])  # fmt: skip
    return made


@pytest.mark.parametrize("seed", range(6))
def test_in_however_many_pieces_events_come_the_summary_is_the_same_and_small(seed):
    chance = random.Random(seed)
    events = [event for number in range(900) for event in odd(chance, number)]
    whole = told(events).stored()
    assert whole == told(events, every=1).stored() == told(events, every=7).stored()
    assert len(orjson.dumps(whole)) <= 16 * 1024
    assert plain(lines_of(Summary(whole), Ending()))
