"""The way out: what is written is sound, the same every time, and gives the same session when it is read again."""

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from vcon_app.drafts import EventDraft, Losses, SessionDraft, ToolDraft, Usage
from vcon_app.formats import vcon
from vcon_app.formats.vcon.file import ARRAYS, put_back

from ..golden import check
from ..vcon_tools import (
    CREATED,
    NEW_UUID,
    SAMPLES,
    Log,
    drafts,
    events,
    findings,
    model,
    sample,
    session,
    sessions,
    written,
)
from .shape import core_faults, vac_faults

NAMES = sorted(path.name for path in SAMPLES.glob("*.vcon"))


def back_and_forth(document, **options):
    """A document as read, as written, the losses, and as read again."""
    ((draft, held),) = sessions(drafts(document))
    losses = Losses()
    data = written(draft, held, losses, **options)
    return held, data, losses, drafts(data)


def as_found(data: bytes) -> dict[str, Any]:
    """What was written, with every item as it was in the file that it came from."""
    made = json.loads(data)
    return made | {name: put_back(made[name]) for name in ARRAYS}


def test_a_written_vcon_is_as_it_was_laid_down():
    ((draft, held),) = sessions(drafts(sample("night-rota.vcon")))

    check(SAMPLES / "night-rota.vcon.written", written(draft, held).decode())


def test_nothing_of_a_trace_in_the_canonical_shape_is_lost():
    document = sample("night-rota.vcon")
    _, data, losses, _ = back_and_forth(document)
    again = as_found(data)

    assert losses.rows() == []
    assert (again.pop("uuid"), again.pop("created_at")) == (NEW_UUID, "2026-06-01T12:00:00Z")
    assert again.pop("amended") == {"uuid": document.pop("uuid")}
    del document["created_at"]
    assert again == document


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bodies", ["json", "string"])
def test_written_vcon_is_read_back_as_the_same_session(name, bodies):
    held, data, losses, again = back_and_forth(sample(name), bodies=bodies)

    if name != "lexicon.mcp.vcon":  # two artifacts of this dialect change places, which the report says
        assert list(map(model, held)) == list(map(model, events(again)))
    assert session(again).external_id in (session(drafts(sample(name))).external_id, NEW_UUID)
    assert bool(losses.rows()) == (name not in ("night-rota.vcon", "go-on.by-order.vcon"))


@pytest.mark.parametrize("name", NAMES)
def test_written_vcon_is_valid(name):
    _, data, _, _ = back_and_forth(sample(name))
    document = json.loads(data)

    assert core_faults(document) == []
    for item in document["analysis"]:
        if item.get("type") == "agent_trace":
            assert [fault for fault in vac_faults(item["body"]) if "rota-lock" not in fault] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_second_way_out_changes_nothing(name):
    _, first, _, again = back_and_forth(sample(name))
    ((draft, held),) = sessions(again)

    assert json.loads(written(draft, held)) == json.loads(first)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_session_gives_the_same_bytes(name):
    ((draft, held),) = sessions(drafts(sample(name)))

    assert written(draft, held) == written(draft, held)


def test_other_members_of_an_old_dialect_are_reported_as_changed():
    _, _, losses, _ = back_and_forth(sample("late-van.legacy.vcon"))

    assert {row["what"]: row["count"] for row in losses.rows()} == {
        "the shape of the session (D2)": 1,
        "name: mimetype → mediatype": 4,
        "name: schema_version → schema": 1,
        "name: attachment type → purpose": 3,
        "encoding or media type of a dialog": 2,
        "start without zone": 1,
        "encoding or media type of a attachment": 1,
        "standard or padded base64": 1,
    }


def test_time_that_is_not_known_is_marked_and_read_as_unknown_again():
    held, data, _, again = back_and_forth(sample("late-van.legacy.vcon"))
    change = json.loads(data)["attachments"][0]

    assert change["start"] == "2026-06-01T12:00:00Z"
    assert change["meta"] == {"start_source": "created_at", "x-as-found": {"start": None}}
    assert [event.at for event in events(again) if event.kind == "file_change"] == [None]


def test_string_bodies_are_json_text_and_nothing_else_changes():
    ((draft, held),) = sessions(drafts(sample("night-rota.vcon")))
    plain = json.loads(written(draft, held))
    texts = json.loads(written(draft, held, bodies="string"))

    for group in ("analysis", "attachments"):
        for item in texts[group]:
            if item.get("encoding") == "json":
                item["body"] = json.loads(item["body"])
    assert texts == plain


def test_the_same_uuid_keeps_its_creation_time_and_a_new_one_amends_it():
    document = sample("night-rota.vcon")
    ((draft, held),) = sessions(drafts(document))
    same = json.loads(written(draft, held, uuid=document["uuid"]))

    assert (same["created_at"], "amended" in same) == (document["created_at"], False)


def test_a_redacted_vcon_stays_redacted_and_loses_its_link():
    document = sample("night-rota.vcon") | {"redacted": {"uuid": NEW_UUID, "type": "pii"}}
    _, data, losses, _ = back_and_forth(document)

    assert json.loads(data)["redacted"] == {"uuid": NEW_UUID, "type": "pii"}
    assert "amended" not in json.loads(data)
    assert [row["what"] for row in losses.rows()] == ["link to the vCon this was made from"]


def test_critical_and_signatures_are_not_written_and_reported():
    document = sample("night-rota.vcon") | {"critical": ["agent_session"]}
    payload = base64.urlsafe_b64encode(json.dumps(document).encode()).decode()
    _, data, losses, _ = back_and_forth({"payload": payload, "signatures": [{"protected": "e30", "signature": "AA"}]})

    assert core_faults(json.loads(data)) == []
    assert {row["what"] for row in losses.rows()} == {"critical", "signature"}


def test_dialogs_that_are_no_longer_dialogs_leave_their_references_in_range():
    _, data, _, _ = back_and_forth(sample("tide.core-only.vcon"))
    document = json.loads(data)

    assert [item["body"] for item in document["dialog"]] == ["When is high water?", "At 11:40."]
    assert document["analysis"][1]["dialog"] == [0, 0, 0, 0, 0, 1]


AT = datetime(2026, 2, 3, 4, 5, 6, 789000, tzinfo=UTC)


USAGE = Usage(10, 20, 30, 40, 15, 5)
AGENT = {"actor_kind": "agent", "actor_name": "Claude Code"}
SUB = {"actor_kind": "subagent", "actor_name": "checker", "depth": 1, "parent": "k5"}
SYSTEM = {"actor_kind": "system"}
FIRST = {**AGENT, "model": "claude-sonnet-4-5", "request": "msg_1", "usage": USAGE}
TASK = ToolDraft("t1", "Task", "srv", {"subagent_type": "checker"})
READ = ToolDraft("t2", "Read", None, {"p": 1})
FILE = ToolDraft("t2", "Read", result={"lines": 3}, status="ok")
ANA = {"actor_kind": "person", "actor_name": "ana"}
BO = {"actor_kind": "person", "actor_name": "bo"}
ONE_OF_EACH = [
    ("system", "", {**SYSTEM, "data": {"subtype": "init"}}),
    ("user_message", "mend it", ANA),
    ("injected_context", "be brief", SYSTEM),
    ("reasoning", "hm", FIRST),
    ("agent_message", "looking", {**FIRST, "cost": Decimal("0.25"), "data": {"native": [1]}}),
    ("tool_call", "", {**AGENT, "tool": TASK}),
    ("user_message", "check", {**AGENT, "parent": "k5", "depth": 1}),
    ("tool_call", "", {**SUB, "tool": READ}),
    ("tool_result", "file", {"actor_kind": "tool", "actor_name": "Read", "parent": "k7", "depth": 1, "tool": FILE}),
    ("agent_message", "fine", {**SUB, "model": "claude-haiku-4-5"}),
    ("tool_result", "no", {"actor_kind": "tool", "actor_name": "Task", "parent": "k5",
                           "tool": ToolDraft("t1", "Task", status="denied")}),
    ("agent_message", "one more thing", SUB),
    ("tool_call", "", {**AGENT, "tool": ToolDraft()}),
    ("file_change", "-a\n+b\n", {**AGENT, "data": {"path": "x.py", "operation": "edit"}}),
    ("artifact", "made", {**SYSTEM, "data": {"name": "m.txt", "mediatype": "text/plain"}}),
    ("compaction", "so far", SYSTEM),
    ("approval", "approved", {**BO, "tool": ToolDraft("t1", "Task"), "data": {"by": "bo"}}),
    ("error", "boom", SYSTEM),
    ("unknown", "", {"data": {"raw": {"type": "x"}}}),
    ("handoff", "to the other", AGENT),
    ("user_message", "mend it", {"actor_kind": "trigger", "actor_name": "nightly"}),
    ("user_message", "mend it", ANA),
    ("user_message", "mend it", ANA),
    ("agent_message", "", {**AGENT, "usage": Usage(None, None, None, 7, quality="estimated")}),
    ("note", "", BO),
    ("agent_message", "done", AGENT),
]  # fmt: skip


def elsewhere(timed=True):
    """A session that no vCon ever held, with an event of every kind."""
    place = {"cwd": "/w", "git_branch": "main"}
    session = SessionDraft(
        "claude-1",
        title="Mend it",
        agent_name="Claude Code",
        started_at=AT if timed else None,
        model="claude-sonnet-4-5",
        phase="completed",
        metadata={"recorder": {"name": "claude-code", "version": "2.1"}, "environment": place},
    )
    times = [AT + timedelta(seconds=number) if timed and number != 17 else None for number in range(len(ONE_OF_EACH))]
    return session, [
        EventDraft(kind, f"k{number}", at, text=text, **more)
        for number, ((kind, text, more), at) in enumerate(zip(ONE_OF_EACH, times, strict=True))
    ]


def test_a_session_from_elsewhere_comes_back_whole():
    draft, held = elsewhere()
    losses = Losses()
    again = drafts(written(draft, held, losses))

    assert list(map(model, events(again))) == list(map(model, held))
    assert [event.request for event in events(again)] == [event.request for event in held]
    assert losses.rows() == []
    assert [finding for finding in findings(again) if finding.severity != "info"] == []


def test_what_is_known_of_a_session_from_elsewhere_comes_back_too():
    draft = replace(elsewhere()[0], user_id="ana", summary="mended", tags=("a", "b"), parent_external_id="p")
    again = session(drafts(written(draft, elsewhere()[1])))
    names = ("external_id", "title", "agent_name", "started_at", "phase", "user_id", "summary", "tags")

    assert [getattr(again, name) for name in names] == [getattr(draft, name) for name in names]
    assert (again.parent_external_id, again.model) == ("p", "claude-sonnet-4-5")
    assert draft.metadata.items() <= again.metadata.items()


def test_record_of_another_format_is_reported_as_loss():
    losses = Losses()
    written(replace(elsewhere()[0], record={"llmfeed": {"blocks": {}}}), elsewhere()[1], losses)

    assert [row["what"] for row in losses.rows()] == ["what llmfeed keeps beside its events"]


def test_a_session_from_elsewhere_is_written_soundly_and_again_the_same():
    draft, held = elsewhere()
    data = written(draft, held)
    document = json.loads(data)
    ((second, kept),) = sessions(drafts(data))

    assert core_faults(document) == []
    assert vac_faults(document["analysis"][0]["body"]) == []
    assert json.loads(written(second, kept)) == document


def test_parties_are_marked_as_the_extension_wants_it():
    draft, held = elsewhere()
    parties = json.loads(written(draft, held))["parties"]
    agents = [party for party in parties if party.get("role") == "agent"]

    assert [(party["name"], party["type"]) for party in agents] == [("Claude Code", "bot"), ("checker", "bot")]
    assert agents[0]["meta"]["agent_session"] == {
        "model_id": "claude-sonnet-4-5",
        "provider": "anthropic",
        "recording_agent": "claude-code/2.1",
        "environment": {"cwd": "/w", "vcs_branch": "main"},
        "agent_id": "main",
    }
    assert agents[1]["meta"]["agent_session"]["parent_agent_id"] == "main"
    assert parties[0] == {"name": "ana", "type": "person", "validation": "none"}


def test_only_what_people_would_read_becomes_dialog_and_no_time_is_made_up():
    document = json.loads(written(*elsewhere(timed=False)))

    assert [item["body"] for item in document["dialog"]] == ["mend it", "looking", *["mend it"] * 3, "done"]
    assert not any("start" in item for item in document["dialog"])
    assert {item["meta"]["start_source"] for item in document["attachments"]} == {"created_at"}


def test_a_model_nobody_knows_is_said_to_be_unknown():
    document = json.loads(written(SessionDraft("x"), [EventDraft("agent_message", "k", text="hi", actor_kind="agent")]))

    assert document["parties"][0]["meta"]["agent_session"] == {"model_id": "unknown", "provider": "unknown"}
    assert document["analysis"][0]["vendor"] == "unknown"


def test_sub_agents_that_run_side_by_side_keep_their_depth_and_order():
    draft = SessionDraft("p", agent_name="a")
    calls = [
        EventDraft("tool_call", f"c{n}", actor_kind="agent", actor_name="a", tool=ToolDraft(f"t{n}", "Task"))
        for n in (1, 2)
    ]
    turns = [
        EventDraft("agent_message", f"m{n}", actor_kind="subagent", text=str(n), parent=f"c{1 + n % 2}", depth=1)
        for n in range(4)
    ]
    deep = EventDraft("agent_message", "d", actor_kind="subagent", text="d", depth=3)
    held = [*calls, *turns, deep]
    again = events(drafts(written(draft, held)))

    assert [(event.kind, event.text, event.depth) for event in again] == [(e.kind, e.text, e.depth) for e in held]


def test_the_events_are_walked_and_never_held():
    draft, held = elsewhere()
    log = Log(held)
    pieces = vcon.write(draft, log, Losses(), options={"uuid": NEW_UUID, "created_at": CREATED})

    assert json.loads(b"".join(pieces))
    assert log.walks <= 6


def test_a_log_without_artifacts_is_walked_three_times():
    draft, held = elsewhere()
    log = Log([event for event in held if event.kind not in ("artifact", "file_change")])
    for _ in vcon.write(draft, log, Losses(), options={"uuid": NEW_UUID, "created_at": CREATED}):
        pass

    assert log.walks == 3


@pytest.mark.parametrize(
    "claimed",
    [
        7,
        {"id": 3},
        {"level": "deep"},
        {"level": 10**9},
        {"dialog": {"i": "0"}},
        {"attachment": {"i": 1}},
        {"type": "x"},
    ],
)
def test_events_that_claim_to_be_kept_by_the_reader_and_are_not_do_no_harm(claimed):
    draft, held = elsewhere()
    strange = [replace(event, data={**event.data, "vcon": claimed}) for event in held]

    assert written(draft, strange) == written(draft, held)


def stored(value):
    """JSON as PostgreSQL gives it back: members in another order."""
    return json.loads(json.dumps(value, sort_keys=True))


@pytest.mark.parametrize("name", NAMES)
def test_a_session_that_was_in_the_database_is_written_the_same(name):
    ((draft, held),) = sessions(drafts(sample(name)))
    kept = []
    for event in held:
        tool = event.tool and replace(
            event.tool, arguments=stored(event.tool.arguments), result=stored(event.tool.result)
        )
        kept.append(replace(event, data=stored(event.data), tool=tool, usage=None, request=None))
    again = replace(draft, metadata=stored(draft.metadata), record=stored(draft.record))

    assert json.loads(written(again, kept)) == json.loads(written(draft, held))


def test_new_events_in_a_session_that_was_a_vcon_are_written_behind_the_old():
    document = sample("night-rota.vcon")
    ((draft, held),) = sessions(drafts(document))
    new = [
        EventDraft("user_message", "live-1", AT, "person", "Ben", text="And Friday?"),
        EventDraft("agent_message", "live-2", AT, "agent", "Rota helper", text="Friday is fine."),
        EventDraft("artifact", "live-3", AT, "agent", "Rota helper", text="fri", data={"name": "f.txt"}),
    ]
    again = drafts(written(draft, held + new))

    assert list(map(model, events(again))) == list(map(model, held + new))
    assert json.loads(written(draft, held + new))["parties"][:4] == document["parties"]


def test_attachments_out_of_order_in_the_log_are_written_in_the_order_of_the_file():
    document = sample("night-rota.vcon")
    document["attachments"].reverse()
    _, data, losses, _ = back_and_forth(document)

    assert as_found(data)["attachments"] == document["attachments"]
    assert losses.rows() == []


def test_a_session_of_two_writes_what_is_its_own():
    document = sample("go-on.by-order.vcon")
    other = json.loads(json.dumps(document["analysis"][0]))
    other["body"]["session"] |= {"session-id": "second", "entries": [{"type": "user", "content": "other"}]}
    other["dialog"] = []
    document["analysis"].append(other)
    found = sessions(drafts(document))
    exported = [json.loads(written(*one)) for one in found]

    assert [len(one["dialog"]) for one in exported] == [4, 0]
    assert [core_faults(one) for one in exported] == [[], []]
    assert [one["analysis"][0]["body"]["session"]["session-id"] for one in exported] == ["src#1", "second"]


@pytest.mark.parametrize("options", [{"uuid": "no"}, {"created_at": datetime(2026, 1, 1)}, {"created_at": "2026"}])
def test_a_bad_option_is_refused_before_anything_is_written(options):
    with pytest.raises(ValueError):
        written(*elsewhere(), **options)


def test_uuid8_has_the_bits_that_core_asks_for():
    made = vcon.uuid8(datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC), "desk.example", b"\xab\xcd")

    assert made[14:19] == "8bcd-"
    assert int(made[:8] + made[9:13], 16) == 1767323045678
    assert made[19] in "89ab"
    assert vcon.uuid8(CREATED, "desk.example", b"\xff\xff")[19:] == made[19:]
    assert vcon.uuid8(CREATED, "other.example", b"\xff\xff")[19:] != made[19:]
    with pytest.raises(ValueError, match="2 random bytes"):
        vcon.uuid8(CREATED, "desk.example", b"")


def test_attachments_of_a_session_without_a_word_are_written_without_a_fault():
    kinds = {"artifact": {"title": "A picture"}, "file_change": {"path": "a.txt", "operation": "edit"}}
    held = [EventDraft(kind, kind, AT, "agent", "Crane", "+1", data=data) for kind, data in kinds.items()]
    found = drafts(json.loads(written(SessionDraft("s-1", "Lift it", "Crane"), held)))
    assert [event.kind for event in events(found)] == list(kinds) and findings(found) == []
    assert findings(drafts({**sample("late-van.legacy.vcon"), "dialog": []}), "R25") != []
