"""What the file of a session holds beside its events, over the API."""

from __future__ import annotations

import json

from sessions_app.models import Session
from tests.formats.vcon.clean import CLEAN
from vcon_app.formats import rest_of_file

from ..client import ok


def test_parts_of_the_file_are_listed_and_searched(api, import_document):
    file = CLEAN | {"zqmember": {"inner": "zqvalue"}}
    session = Session.objects.get(import_links__imported=import_document(file))
    path = f"sessions/{session.pk}/file-parts"

    every = ok(api.get(path))["parts"]
    assert [part["title"] for part in every if part["place"] == "/parties/0"]
    (part,) = ok(api.get(f"{path}?q=zqvalue"))["parts"]
    assert part["values"] == [{"place": "/zqmember/inner", "text": "zqvalue", "size": 0}]


def test_members_that_no_reader_keeps_are_found_in_the_original(api, import_document):
    lines = [
        {"type": "user", "uuid": "a1", "sessionId": "zq-1", "timestamp": "2026-05-01T08:00:00Z", "zqslug": "zq-tower",
         "message": {"role": "user", "content": "What is due?", "zqflag": "zq flag"}},
    ]  # fmt: skip
    imported = import_document(b"".join(json.dumps(line).encode() + b"\n" for line in lines), "a.jsonl")
    session = Session.objects.get(import_links__imported=imported)
    answer = ok(api.get(f"sessions/{session.pk}/file-parts?q=zq"))
    found = {value["place"]: value["text"] for part in answer["parts"] for value in part["values"]}
    assert (found.get("L1/zqslug"), found.get("L1/message/zqflag")) == ("zq-tower", "zq flag")
    assert "What is due?" not in found.values()
    assert (answer["left_out"], answer["is_whole"]) == (0, True)


def test_a_file_that_is_too_large_to_be_looked_through_is_said_to_be(api, import_document, monkeypatch):
    session = Session.objects.get(import_links__imported=import_document(CLEAN | {"zqmember": "zqvalue"}))
    monkeypatch.setattr(rest_of_file, "MOST_VALUES_READ", 10)
    answer = ok(api.get(f"sessions/{session.pk}/file-parts"))
    assert answer["is_whole"] is False and any(part["place"] == "/parties/0" for part in answer["parts"])
