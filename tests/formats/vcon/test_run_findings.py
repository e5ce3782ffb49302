"""What rules mark in a run leaves with a vCon when it is asked for, and comes back as the word of the file."""

from __future__ import annotations

import json

import pytest

from sessions_app.drafts import EventDraft, ToolDraft
from vcon_app.formats.vcon.redacting import Selection, prepare
from vcon_app.formats.vcon.writing.findings import SCHEMA

from ..vcon_tools import drafts, events, model, sample, session, sessions, written
from .shape import core_faults

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def marked():
    """A session of a file, and behind its events a call that wrote a key down."""
    ((draft, held),) = sessions(drafts(sample("night-rota.vcon")))
    call = ToolDraft(call_id="k", name="Bash", arguments={"command": f"export TOKEN={KEY}"})
    return draft, [*held, EventDraft(kind="tool_call", key="k", actor_kind="agent", tool=call)]


def reports(data: bytes) -> list[dict]:
    return [item for item in json.loads(data)["analysis"] if item.get("schema") == SCHEMA]


@pytest.mark.parametrize("bodies", ["json", "string"])
def test_a_finding_names_its_rule_and_the_entry_that_it_stands_on(bodies):
    draft, held = marked()
    data = written(draft, held, findings=True, bodies=bodies)
    assert core_faults(json.loads(data)) == []
    [item] = reports(data)
    body = item["body"] if bodies == "json" else json.loads(item["body"])
    left, finding = body["findings"]
    assert (left["rule"], finding["rule"], finding["count"]) == ("error_left", "secret_in_text", 1)
    [trace] = [json.dumps(one["body"]) for one in json.loads(data)["analysis"] if one["type"] == "agent_trace"]
    assert finding["places"][0]["event"] and finding["places"][0]["event"] in trace
    assert KEY not in json.dumps(item), "a secret is never said again"


def test_findings_leave_only_when_they_are_asked_for_and_that_there_are_none_is_said():
    draft, held = marked()
    assert reports(written(draft, held)) == []
    ((draft, held),) = sessions(drafts(sample("night-rota.vcon")))
    [item] = reports(written(draft, held[:2], findings=True))
    assert item["body"]["findings"] == []


def test_findings_come_back_as_the_word_of_the_file():
    draft, held = marked()
    data = written(draft, held, findings=True)
    again = drafts(data)
    assert SCHEMA in [one.get("schema") for one in session(again).metadata["analyses"]]
    assert [model(event) for event in events(again)] == [model(event) for event in held]
    assert reports(written(session(again), events(again))) == reports(data)


def test_of_a_redacted_session_they_say_what_is_left():
    draft, held = marked()
    prepared = prepare(draft, held, Selection("PII", {len(held): frozenset({"arguments"})}))
    [item] = reports(written(prepared.session, prepared.events, findings=True, redaction={"type": "PII"}))
    assert [finding["rule"] for finding in item["body"]["findings"]] == ["error_left"]
