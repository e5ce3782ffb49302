"""What a file says of the law it stands on, and whether the session may be handed on because of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from sessions_app.models import AuditEntry, Session
from vcon_app.queries import legal_basis
from vcon_app.services.exports import export_jobs, handing_on
from vcon_app.services.exports.export_options import CannotExport

from ..build import append, user
from ..imports.test_imports import BY

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def grant(purpose: str, granted=True, **more):
    return {"purpose": purpose, "granted": granted} | more


def stated(*grants, expiration="2027-01-01T00:00:00Z", kind="consent"):
    return {"lawful_basis": kind, "expiration": expiration, "purpose_grants": list(grants)}


def told(*bases, consent=()):
    return legal_basis.bases_of(Session(metadata={"lawful_basis": list(bases), "consent": list(consent)}), NOW)


def test_each_grant_is_described_with_its_conditions():
    [basis] = told(
        stated(
            grant("agent_session_recording"),
            grant("agent_session_redistribution", False, conditions=["inside the company"]),
            grant("marketing", None),
        )
    )
    assert [(one.title, one.state, one.conditions) for one in basis.grants] == [
        ("recording", "granted", ()),
        ("redistribution", "denied", ("inside the company",)),
        ("marketing", "not stated", ()),
    ]
    assert (basis.kind, basis.is_expired, basis.is_legacy) == ("consent", False, False)


@pytest.mark.parametrize(
    ("expiration", "expired", "indefinite"),
    [
        ("2026-06-01T11:00:00Z", True, False),
        ((NOW - timedelta(minutes=4)).isoformat(), False, False),
        ("2026-06-01T11:00:00", True, False),
        (None, False, True),
        ("soon", False, False),
        (17, False, False),
    ],
)
def test_legal_basis_expires_five_minutes_after_its_time(expiration, expired, indefinite):
    [basis] = told(stated(expiration=expiration))
    assert (basis.is_expired, basis.is_indefinite) == (expired, indefinite)


HAND_ON = "agent_session_redistribution"
YES, NO = stated(grant(HAND_ON)), stated(grant(HAND_ON, False))
OLD = stated(grant(HAND_ON), expiration="2020-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("bases", "may"),
    [
        ([], ""),
        ([YES], "granted"),
        ([YES, NO], "denied"),
        ([stated(grant("agent_session_recording"))], "missing"),
        ([OLD], "expired"),
        ([YES, OLD], "expired"),
    ],
)
def test_the_most_restrictive_grant_wins(bases, may):
    assert legal_basis.redistribution_state(told(*bases)) == may


def test_older_consent_attachment_is_named_as_such():
    [basis] = told(
        consent=[
            {"expiration": None, "consents": [{"purpose": "recording", "status": "granted"}, {"status": "revoked"}]}
        ]
    )
    assert (basis.kind, basis.is_legacy, basis.is_indefinite) == ("consent", True, True)
    assert [(one.title, one.state) for one in basis.grants] == [
        ("recording", "granted"),
        ("a purpose that is not named", "denied"),
    ]


@pytest.mark.parametrize("odd", [{"lawful_basis": "x"}, {"lawful_basis": [7, None]}, {"consent": {}}, {}])
def test_malformed_legal_basis_is_ignored(odd):
    assert legal_basis.bases_of(Session(metadata=odd), NOW) == []


def test_nonsense_inside_a_basis_is_told_not_raised():
    [basis] = told(
        {"lawful_basis": ["x"], "expiration": {}, "purpose_grants": [1, {"purpose": 5, "conditions": "ask"}]}
    )
    assert [(one.title, one.state, one.conditions) for one in basis.grants] == [("5", "not stated", ("ask",))]


def test_export_without_a_grant_is_noted_in_the_audit_log(session):
    append(session, user())
    for bases, said in (([NO], "denied"), ([OLD], "expired"), ([YES], None), ([], None)):
        session.metadata = {"lawful_basis": bases}
        session.save()
        export_jobs.start_export(session, "jsonl", by=BY)
        entry = AuditEntry.objects.filter(action="session.exported").order_by("-seq").first()
        assert entry.details.get("redistribution") == said


@pytest.mark.parametrize(("basis", "answer", "confirmed"), [
    (NO, "", False), (NO, "confirmed", True), (OLD, "confirmed", True), (YES, "confirmed", False),
    (YES, "check", False),
])  # fmt: skip
def test_only_what_nobody_granted_is_confirmed(basis, answer, confirmed):
    assert handing_on.is_confirmed(Session(metadata={"lawful_basis": [basis]}), answer) is confirmed


@pytest.mark.parametrize("basis", [NO, OLD])
def test_who_asks_to_check_is_refused_without_a_grant(basis):
    with pytest.raises(handing_on.NotGranted, match="redistribut"):
        handing_on.is_confirmed(Session(metadata={"lawful_basis": [basis]}), "check")


def test_an_answer_that_is_none_is_refused_by_name():
    with pytest.raises(CannotExport, match="check, confirmed"):
        handing_on.is_confirmed(Session(), "yes")


def test_a_confirmed_export_says_so_in_the_audit_log(session):
    append(session, user())
    session.metadata = {"lawful_basis": [NO]}
    session.save()
    export_jobs.start_export(session, "jsonl", by=BY, handing_on_confirmed=True)
    entry = AuditEntry.objects.filter(action="session.exported").order_by("-seq").first()
    assert entry.details["redistribution"] == "denied" and entry.details["redistribution_confirmed"] is True
