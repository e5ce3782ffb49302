"""A vCon that is written as it came keeps its ids and times; one that says anything else is a new one."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from bench.seeds.files import seed, traced
from sessions_app.drafts import EventDraft
from sessions_app.models import Session
from sessions_app.services import audit
from sessions_app.services.log import events, links
from vcon_app.services.exports import export_jobs

FILE = traced([{"type": "user", "content": "asked"}]) | {"updated_at": "2026-01-02T00:00:00Z"}


def exported(**options: Any) -> dict[str, Any]:
    session = Session.objects.order_by("-created_at").first()
    export = export_jobs.start_export(session, "vcon", by=audit.COMMAND, options=options)
    return json.loads(export_jobs.open_file(export).read())


def test_the_same_record_keeps_its_uuid_and_its_times(import_document):
    import_document(FILE)
    same = {name: FILE[name] for name in ("uuid", "created_at", "updated_at")}
    for options in ({}, {"faithful": True}):
        written = exported(**options)
        assert {name: written[name] for name in same} == same
        assert "amended" not in written


@pytest.mark.parametrize("options", [{"bodies": "string"}, {"children": True}])
def test_what_was_chosen_makes_another_record(import_document, options):
    import_document(FILE)
    written = exported(**options)
    assert written["uuid"] != FILE["uuid"]
    assert written["amended"] == {"uuid": FILE["uuid"]}


def test_another_shape_makes_another_record_that_keeps_the_name_of_its_schema(import_document):
    import_document(seed())
    written = exported()
    assert written["amended"] == {"uuid": FILE["uuid"]}
    assert written["analysis"][0]["body"]["session"]["x-schema"] == "https://example.org/zqschema"


def test_what_the_desk_adds_makes_another_record(import_document):
    import_document(FILE)
    session = Session.objects.get()
    events.append(session.pk, [EventDraft("status", "s", text="looked at")], origin=links.DESK)
    session.refresh_from_db()
    assert exported()["uuid"] != FILE["uuid"]


def test_two_sessions_of_one_file_are_no_longer_that_file(import_document):
    file = copy.deepcopy(FILE)
    other = json.loads(
        json.dumps(file["analysis"][0]).replace('\\"session-id\\": \\"s\\"', '\\"session-id\\": \\"t\\"')
    )
    import_document(file | {"analysis": [*file["analysis"], other]})
    assert exported()["uuid"] != FILE["uuid"]
