"""What reviewers said leaves with a vCon when it is asked for, as an analysis that others may ignore."""

from __future__ import annotations

import json

import pytest

from vcon_app.formats.vcon.writing.verdicts import SCHEMA

from ..vcon_tools import drafts, events, model, sample, session, sessions, written
from .shape import core_faults

DECIDED = {
    "id": "0199d2aa-4c00-7fff-9f3c-5a1d0e7b2cff", "tool": {"name": "order_part"}, "status": "denied",
    "votes": [{"by": "Rosa", "verdict": "deny", "reason": "too dear", "at": "2026-06-01T09:00:00Z"}],
}  # fmt: skip
NAMES = ("night-rota.vcon", "suitcase.call.vcon", "late-van.legacy.vcon")


def review(seq: int = 3):
    return {"approvals": [{**DECIDED, "seq": seq}], "notes": [{"seq": 1, "by": "Rosa", "text": "Hm."}]}


def back(name: str, **options):
    """The events, what is written of them, and what is read again."""
    ((draft, held),) = sessions(drafts(sample(name)))
    data = written(draft, held, **{"verdicts": True, "review": review(), **options})
    return held, json.loads(data), drafts(data)


def verdicts_in(document):
    return [item for item in document["analysis"] if item.get("schema") == SCHEMA]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bodies", ["json", "string"])
def test_a_report_stands_beside_the_session_and_changes_nothing_of_it(name, bodies):
    held, document, again = back(name, bodies=bodies)
    assert [model(event) for event in events(again)] == [model(event) for event in held]
    assert core_faults(document) == []
    [item] = verdicts_in(document)
    assert (item["type"], item["vendor"], item["product"]) == ("report", "countersign", "1.0")
    assert (item["mediatype"], item["encoding"]) == ("application/json", "json")
    assert isinstance(item["body"], dict if bodies == "json" else str)


def test_verdict_report_names_its_entries_and_dialogs():
    held, document, _ = back("night-rota.vcon")
    [item] = verdicts_in(document)
    body = item["body"]
    assert body["approvals"] == [{**DECIDED, "event": held[2].data["vcon"]["id"]}]
    assert body["notes"] == [{"event": held[0].data["vcon"]["id"], "by": "Rosa", "text": "Hm."}]
    assert item["dialog"] and all(0 <= index < len(document["dialog"]) for index in item["dialog"])
    [trace] = [json.dumps(one["body"]) for one in document["analysis"] if one["type"] == "agent_trace"]
    assert all(f'"id": "{one["event"]}"' in trace for part in ("approvals", "notes") for one in body[part])


@pytest.mark.parametrize(
    "options",
    [
        {"verdicts": False},
        {"verdicts": True, "review": {"approvals": [], "notes": []}},
        {"verdicts": True, "review": None},
    ],
)
def test_verdict_report_is_written_only_on_request_and_with_verdicts(options):
    assert verdicts_in(back("night-rota.vcon", **options)[1]) == []


def test_a_decision_about_no_event_is_told_without_one():
    _, document, again = back("night-rota.vcon", review={"approvals": [DECIDED], "notes": []})
    [item] = verdicts_in(document)
    assert item["body"]["approvals"] == [DECIDED] and "dialog" not in item
    assert core_faults(document) == [] and events(again)


@pytest.mark.parametrize("bodies", ["json", "string"])
def test_imported_verdicts_are_shown_kept_and_exported_again(bodies):
    _, document, again = back("night-rota.vcon", bodies=bodies)
    assert {"type": "report", "vendor": "countersign", "product": "1.0", "schema": SCHEMA} in session(again).metadata[
        "analyses"
    ]
    draft = session(again)
    once_more = json.loads(written(draft, events(again), bodies=bodies))
    assert verdicts_in(once_more) == verdicts_in(document)
