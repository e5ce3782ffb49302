"""State over the API: four lifetimes less the one that never leaves the program, and versions."""

from __future__ import annotations

import json
import threading

import pytest
from django.db import connection

from sessions_app.models import Role, Session, StateValue
from sessions_app.services import audit, sessions
from sessions_app.services.state import values

from ..client import ok, pointers, refused


def opened(api, external_id, agent="Clerk", **more):
    made = api.post("sessions", {"agent": agent, "external_id": external_id} | more)
    return f"sessions/{made.json()['id']}/state"


def put(api, path, **body):
    return api.send("PUT", path, json.dumps(body))


def delete(api, address):
    return api.send("DELETE", address, b"")


def kept(api, path, scope="session"):
    return {row["key"]: row["value"] for row in ok(api.get(f"{path}?scope={scope}"))["items"]}


@pytest.mark.django_db
def test_each_scope_is_seen_by_those_it_is_of(api):
    one, other = opened(api, "1", user_id="ines"), opened(api, "2", user_id="ines")
    rui, elsewhere = opened(api, "3", user_id="rui"), opened(api, "1", "Other", user_id="ines")
    for scope in ("session", "user", "app"):
        assert ok(put(api, one, scope=scope, key="k/é", value={"of": [scope, None]}))["version"] == 1
    seen = {path: [scope for scope in ("session", "user", "app") if kept(api, path, scope)] for path in
            (one, other, rui, elsewhere)}  # fmt: skip
    assert seen == {one: ["session", "user", "app"], other: ["user", "app"], rui: ["app"], elsewhere: []}
    assert kept(api, other, "user") == {"k/é": {"of": ["user", None]}}


@pytest.mark.django_db
def test_a_stale_writer_is_told_so_also_after_a_deletion(api):
    path = opened(api, "1")
    assert ok(put(api, path, key="cart", value=1, if_version=0))["version"] == 1
    assert ok(put(api, path, key="cart", value=2, if_version=1))["version"] == 2
    assert refused(put(api, path, key="cart", value=3, if_version=1), 409)["version"] == 2
    assert refused(delete(api, f"{path}?key=cart&if_version=1"), 409)["version"] == 2
    assert ok(delete(api, f"{path}?key=cart&if_version=2")) == {"deleted": 1}
    assert ok(delete(api, f"{path}?key=cart")) == {"deleted": 0} and kept(api, path) == {}
    assert refused(put(api, path, key="cart", value=4, if_version=2), 409)["version"] == 0
    assert ok(put(api, path, key="cart", value=None, if_version=0))["version"] == 4
    assert kept(api, path) == {"cart": None}


@pytest.mark.django_db
def test_the_log_says_who_wrote_what_over_which_version_and_has_no_values(api):
    path = opened(api, "1", user_id="ines")
    for scope, value in (("session", "first"), ("session", "second"), ("user", "first")):
        ok(put(api, path, scope=scope, key="cart", value=value))
    ok(delete(api, f"{path}?key=cart"))
    ok(put(api, path, key="cart", value="third"))
    ok(delete(api, path))
    ok(delete(api, path))
    told = ok(api.get(path.replace("state", "events")))["items"]
    assert [(event["kind"], event["data"]) for event in told] == [
        ("status", {"type": "state_set", "scope": "session", "key": "cart", "version": 1, "replaced": 0}),
        ("status", {"type": "state_set", "scope": "session", "key": "cart", "version": 2, "replaced": 1}),
        ("status", {"type": "state_set", "scope": "user", "key": "cart", "version": 1, "replaced": 0}),
        ("status", {"type": "state_deleted", "scope": "session", "key": "cart", "version": 3, "replaced": 2}),
        ("status", {"type": "state_set", "scope": "session", "key": "cart", "version": 4, "replaced": 0}),
        ("status", {"type": "state_cleared", "scope": "session", "values": 1}),
    ]
    assert "first" not in json.dumps(told)


@pytest.mark.django_db
def test_what_was_kept_for_a_session_ends_with_it(api, workspace):
    path = opened(api, "1", user_id="ines")
    for scope in ("session", "user", "app"):
        put(api, path, scope=scope, key="k", value=1)
    assert "name the key" in refused(delete(api, f"{path}?scope=app"), 422)["detail"]
    assert ok(delete(api, path)) == {"deleted": 1} and kept(api, path) == {}
    put(api, path, key="k", value=2)
    sessions.archive(Session.objects.get(), by=audit.COMMAND)
    assert [kept(api, path, scope) for scope in ("session", "user", "app")] == [{}, {"k": 1}, {"k": 1}]
    assert "archived" in refused(put(api, path, key="k", value=3), 409)["detail"]
    refused(delete(api, path), 409)
    ok(put(api, path, scope="user", key="k", value=3))


@pytest.mark.django_db
def test_what_cannot_be_kept_is_refused_by_its_name(api, monkeypatch):
    path = opened(api, "1")
    assert pointers(refused(put(api, path, scope="user", key="k", value=1), 422)) == {"/scope"}
    assert pointers(refused(put(api, path, scope="temp", key="k", value=1), 422)) == {"/scope"}
    assert pointers(refused(put(api, path, key="", value=1), 422)) == {"/key"}
    assert pointers(refused(put(api, path, key="k"), 422)) == {"/value"}
    assert pointers(refused(put(api, path, key="k", value="x" * 262_144), 422)) == {"/value"}
    refused(put(api, path, key="k", value="\0"), 422)
    monkeypatch.setattr(values, "MOST_KEYS", 2)
    assert [put(api, path, key=key, value=1).status_code for key in "aba"] == [200] * 3
    assert pointers(refused(put(api, path, key="c", value=1), 422)) == {"/key"}
    assert StateValue.objects.count() == 2


@pytest.mark.django_db
def test_a_session_of_others_is_not_there(key_for, workspace, other_workspace):
    mine, theirs = key_for(workspace, Role.AGENT, "mine"), key_for(other_workspace, Role.ADMIN, "theirs")
    path = opened(mine, "1")
    ok(put(mine, path, key="k", value=1))
    for stranger in (theirs, key_for(workspace, Role.AGENT, "another")):
        refused(stranger.get(path), 404)
        refused(put(stranger, path, key="k", value=2), 404)
        refused(delete(stranger, path), 404)
    assert kept(mine, path) == {"k": 1}
    refused(put(key_for(workspace, Role.VIEWER, "viewer"), path, key="k", value=2), 403)


@pytest.mark.django_db(transaction=True)
def test_of_many_writers_at_once_each_adds_its_own(api, session):
    """Each reads, adds one, and tries again where it was too late: nothing is lost."""

    def add(times):
        for _ in range(times):
            while True:
                row = values.values_of(session, "session").filter(key="n").first()
                try:
                    values.write(session, "session", "n", (row.value if row else 0) + 1, by=audit.COMMAND,
                                 if_version=row.version if row else 0)  # fmt: skip
                    break
                except values.Stale:
                    continue
        connection.close()

    threads = [threading.Thread(target=add, args=(10,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert StateValue.objects.get(key="n").value == 40


@pytest.mark.django_db
def test_values_are_found_by_what_they_say(api):
    path = opened(api, "1", user_id="ines")
    put(api, path, scope="user", key="history", value="Chronic migraines, diagnosed 2020")
    put(api, path, scope="user", key="medication_allergies", value={"content": "Penicillin, Sulfa drugs"})
    put(api, path, scope="app", key="other", value="migraines of others")
    said = ok(api.get(f"{path}?scope=user&q=which drug, and any allergy?"))["items"]
    assert [row["key"] for row in said] == ["medication_allergies"]
    assert [row["key"] for row in ok(api.get(f"{path}?scope=user&q=migraine penicillin&limit=1"))["items"]] != []
    assert ok(api.get(f"{path}?scope=user&q=nowhere"))["items"] == []
    assert len(ok(api.get(f"{path}?scope=user&q= "))["items"]) == 2


@pytest.mark.django_db
def test_keys_that_are_made_and_deleted_for_ever_leave_no_more_than_the_newest(api, monkeypatch):
    monkeypatch.setattr(values, "MOST_KEYS", 3)
    path = opened(api, "1")
    put(api, path, key="stays", value=1)
    for number in range(8):
        put(api, path, key=f"k{number}", value=number)
        assert api.send("DELETE", f"{path}?key=k{number}", "").status_code == 200
    kept = StateValue.objects.order_by("key").values_list("key", "is_deleted")
    assert list(kept) == [("k5", True), ("k6", True), ("k7", True), ("stays", False)]


@pytest.mark.django_db
def test_what_is_kept_of_a_user_and_of_an_agent_is_read_without_a_session(api, viewer, stranger, key_for, workspace):
    state = opened(api, "1", user_id="ines")
    opened(api, "2", user_id="rui")
    for scope in ("session", "user", "app"):
        put(api, state, scope=scope, key="said", value=scope)
    put(api, state, scope="user", key="gone", value=1)
    ok(delete(api, f"{state}?scope=user&key=gone"))
    path = f"agents/{Session.objects.get(external_id='1').agent_id}/state"
    assert kept_of(viewer, path) == {"said": "app"}
    assert kept_of(viewer, path, user_id="ines") == {"said": "user"}
    assert kept_of(viewer, path, user_id="ines", key="other") == kept_of(viewer, path, user_id="rui") == {}
    refused(stranger.get(path), 404)
    refused(key_for(workspace, Role.AGENT, "another program").get(path, {"user_id": "ines"}), 403)


def kept_of(api, path, **query):
    return {row["key"]: row["value"] for row in ok(api.get(path, query))["items"]}
