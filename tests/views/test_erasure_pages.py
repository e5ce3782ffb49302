"""Pages on which an admin deletes a session or an import, and all others afterwards."""

from __future__ import annotations

import pytest
from django.urls import reverse

from sessions_app.models import Approval, Session, Tombstone
from sessions_app.services import continuations
from sessions_app.services.approvals import requests
from tests.services.build import append, call, user
from tests.services.files import transcript
from tests.services.imports.test_imports import drop
from tests.views.money.spending import ran
from vcon_app.models import Import

from .build import ASKER

pytestmark = pytest.mark.django_db
PAGES = [
    "/", "/sessions/", "/sessions/?q=xylophone", "/approvals/", "/imports/", "/usage/", "/usage/?by=session",
    "/usage/?by=agent", "/usage/calls/", "/usage/wallets/", "/agents/", "/agents/refund-agent/", "/triggers/runs/",
]  # fmt: skip


def test_it_is_on_no_page_afterwards(admin, reviewer, seen):
    client = admin
    before = {path for path in PAGES if "ylophone" in client.get(path).content.decode().replace("q=xylophone", "")}
    assert {"/", "/sessions/", "/approvals/", "/usage/?by=session", "/usage/calls/"} <= before
    approval = Approval.objects.get()
    assert client.post(reverse("session-delete", args=[seen.pk]), form(seen)).status_code == 302
    for path in PAGES:
        answer = client.get(path)
        assert answer.status_code == 200, path
        shown = answer.content.decode().replace('value="xylophone"', "").replace("q=xylophone", "")
        assert str(seen.pk) not in shown and "Xylophone" not in shown, path
    gone = client.get(reverse("session-detail", args=[seen.agent_id, seen.pk]))
    assert gone.status_code == 404 and "This session was deleted on" in gone.content.decode()
    assert "<h1>Deleted</h1>" in gone.content.decode()
    assert f'href="{reverse("tombstone", args=[seen.pk])}"' in gone.content.decode()
    other = reviewer.get(reverse("session-detail", args=[seen.agent_id, seen.pk])).content.decode()
    assert "This session was deleted on" in other and "tombstone" not in other and "/audit/deleted/" not in other
    assert client.get(reverse("approval-detail", args=[approval.pk])).status_code == 404


def form(subject, **changes: str) -> dict[str, str]:
    return {"word": str(subject.pk)[-6:], "reason": "they asked"} | changes


@pytest.fixture
def seen(agent, session) -> Session:
    """A session that stands on every page: with money, an open question, and words to find."""
    spent = ran(agent, "0.50", tool="lookup", price="0.02", title="Xylophone order")
    append(spent, user("Where is my xylophone?"), call("c1"))
    requests.request(spent, requests.Question("refund", {"for": "xylophone"}), by=ASKER)
    return spent


@pytest.fixture
def imported(workspace, document_storage) -> Import:
    return drop(workspace, transcript(4), "wrong.jsonl")


def test_an_admin_finds_the_way_on_the_page_of_a_session_and_of_an_import(admin, reviewer, seen, imported):
    for page, way in (
        (reverse("session-detail", args=[seen.agent_id, seen.pk]), reverse("session-delete", args=[seen.pk])),
        (reverse("import-detail", args=[imported.pk]), reverse("import-delete", args=[imported.pk])),
    ):
        assert way in admin.get(page).content.decode()
        assert way not in reviewer.get(page).content.decode()
        assert admin.get(way).status_code == 200
        assert reviewer.get(way).status_code == reviewer.post(way, form(seen)).status_code == 403
    assert not Tombstone.objects.exists()


def test_what_goes_and_what_stays_is_said_before(admin, seen, agent, scripted_agent):
    Session.objects.create(workspace_id=agent.workspace_id, agent=agent, parent=seen, title="Helper of it")
    continuations.continue_session(seen, scripted_agent, by=ASKER, origin="chat")
    page = admin.get(reverse("session-delete", args=[seen.pk])).content.decode()
    for words in ("1 pending approval", "Helper of it", "continues it: its log begins with the", "tombstone"):
        assert words in page


@pytest.mark.parametrize("wrong", [{"word": "abc"}, {"word": ""}, {"reason": " "}, {"reason": "x" * 2_001}])
def test_nothing_goes_before_it_is_confirmed(admin, imported, wrong):
    [name] = wrong
    answer = admin.post(reverse("import-delete", args=[imported.pk]), form(imported, **wrong))
    assert answer.status_code == 422 and f'id="{name}-error"' in answer.content.decode()
    assert Import.objects.exists() and Session.objects.exists() and not Tombstone.objects.exists()


def test_an_import_goes_and_the_audit_log_leads_to_its_tombstone(admin, imported):
    answer = admin.post(
        reverse("import-delete", args=[imported.pk]), form(imported, reason="a wrong upload"), follow=True
    )
    assert answer.redirect_chain == [(reverse("import-list"), 302)]
    page = answer.content.decode()
    assert "Deleted. What remains of it is in the audit log." in page and "wrong.jsonl" not in page
    assert not Import.objects.exists() and not Session.objects.exists()
    remains = reverse("tombstone", args=[imported.pk])
    assert remains in admin.get(reverse("audit-list")).content.decode()
    shown = admin.get(remains).content.decode()
    assert "a wrong upload" in shown and imported_sha256(imported) in shown and "wrong.jsonl" not in shown
    gone = admin.get(reverse("import-detail", args=[imported.pk]))
    assert gone.status_code == 404 and "This import was deleted on" in gone.content.decode()


def imported_sha256(imported: Import) -> str:
    [document] = Tombstone.objects.get(subject_id=imported.pk).documents
    return document["sha256"]


def test_children_go_when_the_box_is_ticked(admin, agent, session):
    Session.objects.create(workspace_id=agent.workspace_id, agent=agent, parent=session)
    admin.post(reverse("session-delete", args=[session.pk]), form(session, children="1"))
    assert not Session.objects.exists()


def test_what_cannot_go_by_itself_is_said_with_what_to_do(admin, imported, workspace):
    drop(workspace, transcript(8), "longer.jsonl")
    page = admin.get(reverse("import-delete", args=[imported.pk]))
    assert page.status_code == 200 and "longer.jsonl: delete the session itself" in page.content.decode()
    refused = admin.post(reverse("import-delete", args=[imported.pk]), form(imported))
    assert refused.status_code == 409 and Import.objects.count() == 2


def test_people_of_another_workspace_find_nothing(charlie, admin, seen, imported):
    for way in (reverse("session-delete", args=[seen.pk]), reverse("import-delete", args=[imported.pk])):
        assert charlie.get(way).status_code == charlie.post(way, form(seen)).status_code == 404
    admin.post(reverse("import-delete", args=[imported.pk]), form(imported))
    assert charlie.get(reverse("tombstone", args=[imported.pk])).status_code == 404
    assert charlie.get(reverse("import-detail", args=[imported.pk])).content.decode().count("was deleted on") == 0


def test_the_usage_page_keeps_what_was_spent_and_names_no_session(admin, seen):
    admin.post(reverse("session-delete", args=[seen.pk]), form(seen))
    page = admin.get("/usage/?by=session").content.decode()
    assert "deleted sessions" in page and "$0.52" in page and "Xylophone" not in page
