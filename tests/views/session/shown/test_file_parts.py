"""What a file says beside its events stands on a page: parts with their places, totals as stated, names of files."""

from __future__ import annotations

import copy

from sessions_app.models import Session
from tests.formats.vcon.clean import CLEAN

from ...build import words
from ..build import path_of


def vcon() -> dict:
    file = copy.deepcopy(CLEAN)
    file["parties"][0]["stir"] = "zqstir<b>"
    file["analysis"].append({"type": "sentiment", "vendor": "v", "encoding": "json", "body": {"mood": "zqmood"}})
    file["attachments"] += [
        {"purpose": "agent_file_change", "start": "2026-04-01T08:00:00Z", "party": 1, "dialog": 1, "encoding": "json",
         "mediatype": "application/json",
         "body": {"path": "src/zq.py", "operation": "created", "diff_text": "+ print()"}},
        {"purpose": "agent_artifact", "start": "2026-04-01T08:00:00Z", "party": 1, "dialog": 1,
         "filename": "zq-plan.md", "mediatype": "text/plain", "encoding": "none", "body": "The plan"},
    ]  # fmt: skip
    return file


def test_every_other_value_of_the_file_is_shown_and_searched_by_members_alone(viewer, charlie, import_document):
    session = Session.objects.get(import_links__imported=import_document(vcon()))
    path = f"/sessions/{session.pk}/file-parts"
    page = viewer.get(path)

    assert "zqstir<b>" not in page.content.decode()
    shown = words(page)
    assert "/parties/0/stir zqstir<b>" in shown and "Analysis: sentiment" in shown
    found = words(viewer.get(path, {"q": "ZQMOOD"}))
    assert "1 value with these words" in found and "zqstir" not in found
    assert "No matches" in words(viewer.get(path, {"q": "zq-nowhere"}))
    assert "No value has all of these words; 1 has one of them" in words(viewer.get(path, {"q": "zqmood nowhere"}))
    assert path in viewer.get(path_of(session)).content.decode()
    assert charlie.get(path).status_code == 404


def test_a_changed_file_and_an_artifact_say_their_name_what_was_done_and_who_made_them(viewer, import_document):
    session = Session.objects.get(import_links__imported=import_document(vcon()))
    shown = words(viewer.get(f"{path_of(session)}?show=everything"))
    maker = CLEAN["parties"][1]["name"]
    assert f"src/zq.py created by {maker}" in shown
    assert f"zq-plan.md agent_artifact by {maker}" in shown


def test_totals_that_the_file_states_stand_beside_those_that_are_counted(viewer, import_document):
    told = {"turns": 917, "error_count": 613, "session_start": "2026-03-01T10:00:00Z"}
    node = {"id": "s", "type": "agent_session", "title": "S", "properties": told}
    import_document({"upg_version": "0.41.0", "exported_at": "2026-01-01T00:00:00Z", "source": {"tool": "t"},
                     "product": {"id": "p", "title": "P"}, "nodes": [node], "edges": []}, "graph.upg")  # fmt: skip
    session = Session.objects.get(external_id="s")
    shown = words(viewer.get(path_of(session)))

    assert "613 errors reported" in shown and "no errors" not in shown
    assert "0 turns (917 reported)" in shown
