"""The receipt of a decision, from its card."""

from __future__ import annotations

import pytest

from sessions_app.models import Approval
from tests.services.receipts.test_receipts import asked, decided
from tests.views.build import words
from vcon_app.services.trust import own_keys
from vcon_app.signing.keys import BadKey

pytestmark = pytest.mark.usefixtures("document_storage")


def test_the_card_of_a_decision_links_its_receipt(viewer, session):
    approval = decided(session)
    path = f"/approvals/{approval.pk}/receipt"
    assert path in viewer.get(f"/approvals/{approval.pk}/").content.decode()
    answer = viewer.get(path)
    assert answer.headers["Content-Disposition"] == f'attachment; filename="decision-{approval.pk}.jws"'
    assert answer.content.count(b".") == 2


def test_what_a_file_told_links_none_and_why_there_is_none_is_said(viewer, session):
    pending = asked(session)
    assert "not decided yet" in words(viewer.get(f"/approvals/{pending.pk}/receipt"))
    told = decided(session)
    Approval.objects.filter(pk=told.pk).update(recorded=True)
    assert "receipt" not in viewer.get(f"/approvals/{told.pk}/").content.decode()
    assert viewer.get(f"/approvals/{told.pk}/receipt").status_code == 409


def test_a_key_that_cannot_be_used_is_said(viewer, session, monkeypatch):
    approval = decided(session)

    def broken():
        raise BadKey("it is not PEM")

    monkeypatch.setattr(own_keys, "signer", broken)
    answer = viewer.get(f"/approvals/{approval.pk}/receipt")
    assert answer.status_code == 500 and "it is not PEM" in words(answer)


def test_another_workspaces_receipt_is_not_there(charlie, session):
    assert charlie.get(f"/approvals/{decided(session).pk}/receipt").status_code == 404
