"""Sessions of any origin as VAC records: valid after the CDDL, and the same when they are read again."""

import io
import json
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from vcon_app.drafts import EventDraft, FormatError, Losses, SessionDraft, ToolDraft, Usage
from vcon_app.formats import vcon

from ..reads import mutants
from ..vcon.shape import core_faults, vac_faults
from ..vcon_tools import SAMPLES, model
from ..vcon_tools import drafts as vcon_drafts
from ..vcon_tools import events as vcon_events
from ..vcon_tools import sessions as vcon_sessions
from ..vcon_tools import written as as_vcon
from .tools import SAMPLE, drafts, record, session_and_events, written

AT = datetime(2026, 4, 1, 8, 30, tzinfo=UTC)


def test_a_record_comes_out_as_it_went_in():
    sound = record()
    del sound["session"]["entries"][-1]  # VAC knows no tide-table
    losses = Losses()
    data = written(*session_and_events(sound), losses)
    assert json.loads(data) == sound and losses.rows() == []


def test_an_entry_of_no_known_type_is_carried_inside_of_one_that_is():
    session, events = session_and_events(SAMPLE.read_bytes())
    data = written(session, events)
    assert vac_faults(json.loads(data)) == []
    again = session_and_events(data)[1]
    assert list(map(model, again)) == list(map(model, events))
    assert again[-1].kind == "unknown" and again[-1].data["raw"] == record()["session"]["entries"][-1]


def foreign():
    usage = Usage(100, 10, 5, 40, 12, quality="estimated")
    call = ToolDraft("c1", "lift", "crane", {"kg": 5})
    result = ToolDraft("c1", "lift", result={"kg": 9}, status="error")
    return SessionDraft(
        "s-1", "Lift it", "Crane", AT, None, "completed", "m-1", "ann@example.com", "Lifted.", ("dock",),
        metadata={"recorder": {"name": "desk"}},
    ), [
        EventDraft("user_message", "k1", AT, "person", "Ann", "Lift it"),
        EventDraft("tool_call", "k2", None, "agent", "Crane", "", call, "m-1", usage, "r1", Decimal("0.5")),
        EventDraft("agent_message", "k3", AT, "subagent", "Hook", "swinging", parent="k2", depth=1),
        EventDraft("tool_result", "k4", AT, "tool", "lift", "too heavy", result, parent="k2"),
        EventDraft("file_change", "k5", AT, "agent", "Crane", "+1", data={"path": "a.txt", "operation": "edit"}),
        EventDraft("approval", "k6", None, "person", "Ann", "no", data={"decision": "denied"}),
        EventDraft("unknown", "k7", data={"raw": {"type": "user", "x": [1]}}),
        EventDraft("agent_message", "k8", AT, "agent", "Crane", "Too heavy."),
    ]  # fmt: skip


def test_a_session_of_another_format_survives_the_way_out_and_back():
    session, events = foreign()
    data = written(session, events)
    assert vac_faults(json.loads(data)) == []
    again, found = session_and_events(data)
    assert list(map(model, found)) == list(map(model, events))
    for name in ("external_id", "title", "agent_name", "started_at", "phase", "model", "user_id", "summary", "tags"):
        assert getattr(again, name) == getattr(session, name), name


def test_the_same_session_gives_the_same_bytes():
    assert written(*foreign()) == written(*foreign())


def test_a_session_without_events_is_a_record():
    data = written(SessionDraft("empty"), [])
    assert vac_faults(json.loads(data)) == []
    assert session_and_events(data)[0].external_id == "empty"


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.vcon")), ids=lambda path: path.name)
def test_a_vcon_as_a_record_keeps_what_happened_and_tells_what_has_no_place(path):
    for session, events in vcon_sessions(vcon_drafts(path.read_bytes())):
        losses = Losses()
        data = written(session, events, losses)
        assert vac_faults(json.loads(data)) == []
        again, found = session_and_events(data)
        assert list(map(model, found)) == list(map(model, events))
        assert again.title == session.title
        assert losses.total()


def test_a_record_as_a_vcon_gets_the_dialogs_and_parties_it_did_not_have():
    session, events = session_and_events(SAMPLE.read_bytes())
    data = as_vcon(session, events)
    document = json.loads(data)
    assert core_faults(document) == []
    assert [item["message_id"] for item in document["dialog"]] == ["h1", "h2", "h12"]
    assert [party.get("role") for party in document["parties"]] == [None, "agent"]
    again = vcon_events(list(vcon.read(io.BytesIO(data))))
    assert list(map(model, again)) == list(map(model, events))


def test_members_that_the_cddl_forbids_are_moved_aside_and_reported():
    odd = record()
    odd["recording-agent"] = "deck-recorder/0.3"
    odd["session"]["environment"] = {"cwd": "/srv"}
    odd["session"]["session-end"] = "at dusk"
    odd["session"]["entries"][1] |= {"timestamp": "noon", "parent-id": 7}
    odd["session"]["entries"][2]["token-usage"]["input"] = 1.5
    losses = Losses()
    made = json.loads(written(*session_and_events(odd), losses))
    assert vac_faults(made) == []
    assert (
        made["session"]["x-found-session-end"] == "at dusk"
        and made["session"]["entries"][1]["x-found-timestamp"] == "noon"
    )
    assert {row["what"].split(" ")[0] for row in losses.rows()} >= {
        "recording-agent",
        "environment",
        "session-end",
        "timestamp",
    }


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("file-attribution", {"files": [{"path": "a.py"}]}),
        ("file-attribution", {"files": [{"path": "a.py", "conversations": [{"ranges": []}], "operation": "edit"}]}),
        ("vcs", {"type": "git", "revision": 7}),
        ("recording-agent", {"name": "deck", "version": 3}),
        ("created", "2026-13-40T25:00:00Z"),
        ("session/environment", {"working-dir": "/srv", "sandboxes": "/tmp"}),
        ("session/environment", {"working-dir": "/srv", "vcs": {"branch": "main"}}),
        ("session/entries/0/token-usage", [1, 2]),
        ("session/entries/0", {"type": "vendor-thing", "payload": 1}),
        ("session/entries/0", {"type": "system-event", "event-type": "log", "data": "text"}),
        ("session/entries/0", {"type": "assistant", "token-usage": {"input": 2**70}}),
        ("session/entries/0", {"type": 7}),
    ],
)
def test_what_the_cddl_does_not_allow_is_kept_under_another_name(place, value):
    changed = record()
    *places, last = place.split("/")
    holder = changed
    for name in places:
        holder = holder[int(name)] if isinstance(holder, list) else holder[name]
    holder[int(last) if isinstance(holder, list) else last] = value
    made = json.loads(written(*session_and_events(changed)))
    assert vac_faults(made) == []


def test_whatever_a_record_holds_it_comes_out_valid():
    for changed in mutants(record()):
        try:
            session, events = session_and_events(changed)
        except FormatError:
            continue
        assert vac_faults(json.loads(written(session, events))) == []


def test_events_that_only_claim_to_be_ours_do_no_harm():
    session, events = foreign()
    for left in ({"id": 7}, {"id": "x", "level": -1}, [], {"id": "x", "type": "tool-call"}, {"wrapper": 3, "id": ""}):
        data = written(session, [replace(event, data={**event.data, "vcon": left}) for event in events])
        assert vac_faults(json.loads(data)) == [] and len(session_and_events(data)[1]) == len(events)
    assert drafts(written(replace(session, record={"vcon": {"parties": [{}]}}), events))


@pytest.mark.parametrize(
    "usage", [Usage(1500, 7000, 500, 0, 10), Usage(5, None, None, 3, 3), Usage(5, None, None, None, 4)]
)
def test_reasoning_is_never_added_to_the_output_when_it_is_read_again(usage):
    """Copilot CLI states outputs with its messages, and the reasoning of all of them with a last record without any."""
    event = EventDraft("model_request", "r", AT, "agent", "Crane", model="m-1", usage=usage, request="r")
    again = session_and_events(written(SessionDraft("s-1", agent_name="Crane"), [event]))[1]
    assert [one.usage for one in again] == [usage]
