"""A file that claims whatever it likes: on no page it looks like the desk's own word, and nothing here is its doing."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from sessions_app.models import Approval, Session, Verdict, Vote
from vcon_app.models import Import

from ....signing.make import START, VCON, b64, recorder, signed
from ..build import Page, path_of

pytestmark = pytest.mark.django_db
US = "Ada, admin of this desk"
REVIEW = {
    "session": "s",
    "verdicts": [{"event": "e1", "by": US, "verdict": "good", "note": "Looked through.", "at": "2026-03-01T10:00:00Z"}],
    "approvals": [{"id": "a", "event": "e2", "tool": "pay", "status": "approved", "arguments": {"amount": 5},
                   "decision": {"by": US, "channel": "web"}, "votes": [{"by": US, "verdict": "approve"}]}],
    "comments": [{"id": "c", "event": "e1", "by": US, "text": "Fine with me."}], "notes": [],
}  # fmt: skip
ENTRIES = [
    {"type": "user", "id": "e1", "content": "Pay it"},
    {"type": "system-event", "id": "e2", "event-type": "approval", "x-kind": "approval", "x-text": f"{US}: approved",
     "x-data": {"decision": "approved", "by": US, "status": "approved", "votes": [US]},
     "x-tool": {"call_id": "c", "name": "pay", "arguments": {"amount": 5}}},
    {"type": "assistant", "id": "e3", "content": "Paid."},
]  # fmt: skip
JSON = {"mediatype": "application/json", "encoding": "json", "vendor": "Countersign"}
FROM_HERE = VCON | {
    "dialog": [],
    "analysis": [
        {"type": "agent_trace", "schema": "s", "body": {"version": "3.0.0-draft", "id": "i", "session": {
            "session-id": "s", "entries": ENTRIES}}} | JSON,
        {"type": "report", "schema": "urn:countersign:review-verdicts:1", "body": REVIEW} | JSON,
    ],
}  # fmt: skip
"""A vCon that somebody made to look like an export of this desk."""
FEED = {
    "feed_type": "session", "metadata": {"title": "Oven"},
    "decisions": [{"id": "d1", "title": "Buy the oven", "status": "resolved", "decided_by": US, "rationale": "Cheap."}],
    "conversation_trace": [{"role": "user", "content": "Shall we buy it?"}, {"role": "assistant", "content": "Yes."}],
}  # fmt: skip


def text_of(client: Any, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 200, (path, response.status_code)
    return Page(response.content).text


def test_what_a_file_says_was_decided_and_reviewed_here_was_not(admin, import_document):
    import_document(FROM_HERE)
    session, approval = Session.objects.get(), Approval.objects.get()
    assert approval.recorded and not Vote.objects.exists() and not Verdict.objects.exists()
    assert US not in text_of(admin, reverse("audit-list")) + text_of(admin, reverse("approval-list"))
    card = text_of(admin, reverse("approval-detail", args=[approval.pk]))
    assert f"the file says: approved pay amount 5 by {US} as the file tells it not executed" in card
    assert admin.get(reverse("approval-receipt", args=[approval.pk])).status_code == 409
    page = text_of(admin, f"{path_of(session)}?show=everything")
    assert page.count(US) == page.count(f"the file says: approved by {US} : pay") + page.count(f"Reason {US}: approved")
    assert US not in text_of(admin, f"{path_of(session)}/review")


def test_a_decision_that_a_file_tells_is_the_files_word_in_the_graph(admin, import_document):
    import_document(FEED, name="oven.llmfeed.json")
    session = Session.objects.get()
    for path in (f"{path_of(session)}/graph", reverse("agent-graph", args=[session.agent.slug])):
        assert "Buy the oven resolved the file says, in event" in text_of(admin, path)


def test_a_file_whose_signature_fails_is_called_verified_nowhere(admin, import_document):
    whole = signed(VCON, recorder(dates=(START, timezone.now() + timedelta(days=3650))))
    import_document(whole | {"payload": b64(json.dumps(VCON | {"subject": "Another clock"}).encode())})
    session, imported = Session.objects.get(), Import.objects.get()
    assert imported.signature["state"] == "invalid"
    pages = [text_of(admin, path) for path in (
        path_of(session), f"{path_of(session)}/facts", reverse("import-detail", args=[imported.pk]),
        reverse("import-list"), reverse("session-list"), reverse("file-parts", args=[session.pk]),
    )]  # fmt: skip
    assert [word for page in pages for word in ("verified", "Verified") if word in page] == []
    assert "signature" in pages[0].lower() and "invalid" in pages[0].lower() + pages[2].lower()


def test_versions_that_others_made_up_say_nothing_of_the_session_that_they_name(admin, import_document):
    """``amended`` and ``group`` of a stranger's file: a session beside it, and the other one is as it was."""
    import_document(FROM_HERE)
    first = Session.objects.get()
    before = Session.objects.values().get()
    claims = {"uuid": "0195c5f0-7d1e-8a00-b5d3-0e2a7c1f9b45", "amended": {"uuid": VCON["uuid"]},
              "group": [{"uuid": VCON["uuid"]}]}  # fmt: skip
    import_document(FROM_HERE | claims | {"subject": "The true one"}, name="amended.vcon")
    second = Session.objects.exclude(pk=first.pk).get()
    assert second.metadata["version_of"] == str(first.pk)
    assert Session.objects.values().get(pk=first.pk) == before
    assert "The true one" not in text_of(admin, path_of(first))
