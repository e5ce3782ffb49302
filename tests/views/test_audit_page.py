"""The audit log as admins read it."""

from __future__ import annotations

import re

from sessions_app.models import Session
from sessions_app.services import audit
from tests.database_roles import as_owner

from .build import asks, session_of, words

SOMEBODY = audit.Actor("member", name="Mallory <script>alert(1)</script>")


def test_entries_say_who_did_what(admin, agent):
    asks(session_of(agent))
    page = words(admin.get("/audit/"))
    assert "Refund agent API key approval.requested" in page
    assert page.index("approval.requested") < page.index("session.created"), "the newest first"


def test_hostile_names_are_text(admin, workspace):
    audit.record(workspace.id, SOMEBODY, "thing.done", subject=("thing", "<b>1</b>"), note="<img src=x onerror=y>")
    page = admin.get("/audit/").content.decode()
    assert "<script>alert" not in page and "<img" not in page and "<b>1" not in page


def test_older_entries_follow(admin, workspace):
    for number in range(150):
        audit.record(workspace.id, audit.SYSTEM, f"thing.number_{number:03}")
    page = admin.get("/audit/").content.decode()
    more = re.search(r'href="(\?before=\d+)"', page)[1]
    rest = admin.get(f"/audit/{more}", headers={"HX-Request": "true"}).content.decode()
    assert "number_149" in page and "number_050" in page and "number_049" not in page
    assert "number_049" in rest and "number_000" in rest and "<html" not in rest


def test_the_history_of_one_thing(admin, agent):
    first, second = asks(session_of(agent)), asks(session_of(agent))
    page = words(admin.get(f"/audit/?subject={first.id}"))
    assert page.count("approval.requested") == 1
    assert second.digest not in page and first.digest[:20] in page


def test_a_whole_chain_is_confirmed_and_a_broken_one_names_the_entry(admin, agent):
    asks(session_of(agent))
    assert "The chains are intact" in words(admin.get("/audit/?check=1"))
    with as_owner() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE sessions_app_auditentry DISABLE TRIGGER append_only")
        cursor.execute("UPDATE sessions_app_auditentry SET actor_name = 'Nobody' WHERE seq = 2")
    assert "entry 2: its content was changed" in words(admin.get("/audit/?check=1"))


def test_nonsense_in_the_address_is_no_fault(admin):
    for query in ("before=x", "before=" + "9" * 40, "before=%00", "before=²"):
        assert admin.get(f"/audit/?{query}").status_code == 404
    assert admin.get("/audit/?subject=%00").status_code == 200


def test_entries_are_found_by_who_what_and_when_and_things_have_names(admin, workspace, session):
    Session.objects.filter(pk=session.pk).update(title="Order 4711")
    audit.record(workspace.id, SOMEBODY, "approval.requested", session=str(session.pk), digest="a" * 64, reply=None)
    audit.record(workspace.id, audit.SYSTEM, "stop.made", subject=("session", session.pk))
    page = words(admin.get("/audit/?action=approval"))
    assert "session Order 4711" in page and f"digest {'a' * 20}…" in page
    assert "reply" not in page.split("Details")[1] and "stop.made" not in page
    assert "stop.made Order 4711" in words(admin.get("/audit/?who=countersign"))
    assert "No such entries" in words(admin.get("/audit/?from=2999-01-01"))
    assert "is no day; write it as 2026-01-31" in words(admin.get("/audit/?to=2026-13-45"))
