"""Events of any kind go out as a vCon and come back as they were; so does what is not known of their session."""

from __future__ import annotations

import io
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from vcon_app.drafts import EventDraft, SessionDraft, ToolDraft
from vcon_app.formats import vcon

from ..vcon_tools import drafts, events, model, sessions, written

START = datetime(2026, 5, 4, 8, tzinfo=UTC)
KINDS = ("agent_message", "reasoning", "tool_call", "tool_result", "system", "handoff", "compaction", "file_change",
         "artifact", "approval", "escalation", "status", "error", "note")  # fmt: skip
DATA = ({}, {"a": 1}, {"name": "plan.md", "mediatype": "text/plain"}, {"path": "a.py", "type": "patch", "hash": "c0"})


def log(seed: int) -> list[EventDraft]:
    """A few events, drawn; each call has an id of its own, and results answer calls."""
    dice, found = random.Random(seed), [EventDraft("user_message", "k", START, "person", "Ann", text="Go on.")]
    for number in range(dice.randint(2, 9)):
        kind = dice.choice(KINDS)
        tool = None
        if kind in ("tool_call", "tool_result"):
            status = dice.choice((None, "ok", "error", "cancelled", "denied"))
            tool = ToolDraft(f"c{number}", "Bash", None, {"a": 1} if kind == "tool_call" else None, None, status)
        at = START + timedelta(seconds=number)
        data = dict(dice.choice(DATA))
        found.append(EventDraft(kind, f"k{number}", at, "agent", "Bot", text=f"words {number}", tool=tool, data=data))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happened_comes_back_in_its_place(seed: int) -> None:
    held = log(seed)
    again = events(drafts(written(SessionDraft("s", title="T", agent_name="Bot"), held)))

    assert list(map(model, again)) == list(map(model, held))
    told = [{name: value for name, value in event.data.items() if name not in ("vcon", "orphan")} for event in again]
    assert told == [event.data for event in held]


def test_a_call_that_nobody_answered_is_still_one() -> None:
    call = EventDraft("tool_call", "k", START, "agent", "Bot", tool=ToolDraft("c1", "Bash", None, {"a": 1}))
    unsaid = EventDraft("tool_result", "r", START, "tool", "Bash", tool=ToolDraft("c2", "Bash"))
    again = events(
        drafts(written(SessionDraft("s"), [call, replace(call, key="k2", tool=ToolDraft("c2", "Bash")), unsaid]))
    )

    assert [event.kind for event in again] == ["tool_call", "tool_call", "tool_result"]
    assert [event.tool and event.tool.status for event in again] == [None, None, None]


@pytest.mark.parametrize("tool", [None, ToolDraft(None, None), ToolDraft("c1", None, None, {"a": 1})])
def test_a_call_of_a_tool_that_nobody_named_has_no_name_when_it_comes_back(tool: ToolDraft | None) -> None:
    again = events(drafts(written(SessionDraft("s"), [EventDraft("tool_call", "k", START, "agent", "Bot", tool=tool)])))

    assert [(event.kind, event.tool and event.tool.name) for event in again] == [("tool_call", None)]


def test_what_is_not_known_of_a_session_does_not_come_back_as_unknown() -> None:
    said = EventDraft("agent_message", "k", START, "agent", "", text="Done.")
    ((draft, _),) = sessions(drafts(written(SessionDraft("s", metadata={"recorder": {"name": "reel"}}), [said])))

    assert (draft.agent_name, draft.model) == ("", None)
    assert draft.metadata["recorder"] == {"name": "reel"}
    assert not draft.metadata.keys() & {"client", "provider", "models"}


def test_an_attachment_before_all_entries_stays_there() -> None:
    first = EventDraft("artifact", "a", START, "person", "Ann", text="brief")
    held = [first, EventDraft("user_message", "u", START, "person", "Ann", text="Read it."),
            EventDraft("artifact", "b", START, "agent", "Bot", text="answer")]  # fmt: skip
    data = written(SessionDraft("s", agent_name="Bot"), held)

    assert [event.text for event in events(list(vcon.read(io.BytesIO(data))))] == ["brief", "Read it.", "answer"]


def test_a_result_that_is_told_outside_of_its_sub_agent_stays_outside() -> None:
    tool = ToolDraft("c1", "Bash")
    held = [
        EventDraft("user_message", "u", START, "person", "Ann", text="Read it."),
        EventDraft("agent_message", "m", START, "agent", "Helper", text="I look.", depth=1),
        EventDraft("tool_call", "c", START, "agent", "Helper", tool=tool, depth=1),
        EventDraft("tool_result", "r", START, "tool", "Bash", text="found", tool=tool),
    ]
    once = drafts(written(SessionDraft("s", agent_name="Bot"), held))
    ((draft, again),) = sessions(once)
    twice = events(drafts(written(draft, again)))

    assert [event.depth for event in again] == [0, 1, 1, 0]
    assert [event.depth for event in twice] == [0, 1, 1, 0]
