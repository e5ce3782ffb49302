"""What the file of a session holds beside its events, over the API."""

from __future__ import annotations

from sessions_app.models import Session
from tests.formats.vcon.clean import CLEAN

from ..client import ok


def test_parts_of_the_file_are_listed_and_searched(api, import_document):
    file = CLEAN | {"zqmember": {"inner": "zqvalue"}}
    session = Session.objects.get(import_links__imported=import_document(file))
    path = f"sessions/{session.pk}/file-parts"

    every = ok(api.get(path))["parts"]
    assert [part["title"] for part in every if part["place"] == "/parties/0"]
    (part,) = ok(api.get(f"{path}?q=zqvalue"))["parts"]
    assert part["values"] == [{"place": "/zqmember/inner", "text": "zqvalue", "size": 0}]
