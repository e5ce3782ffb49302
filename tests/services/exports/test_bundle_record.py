"""The record in a bundle: the log as it was chained, which nobody changes unseen, whoever signs the bundle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

import pytest

from sessions_app.models import Session
from tests.database_roles import as_owner
from tests.formats.written.test_bundle import members, packed
from tests.services.build import append, event, user
from vcon_app.services.checkpoints import making
from vcon_app.services.trust import own_keys
from vcon_app.signing import detached

from ..files import transcript
from ..imports.test_imports import drop
from .test_bundle_parts import handed_over, verified

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("document_storage")]


@pytest.fixture
def begun_here(session) -> Session:
    append(session, user("Do it"))
    append(session, event(text="a first step"), event(text="a second"))
    append(session, event(text="done"))
    return session


@pytest.fixture
def check(tmp_path, workspace) -> Callable[[dict[str, bytes]], object]:
    """What is found of a bundle with these contents, listed and signed as if they were right."""

    def run(held: dict[str, bytes]):
        listed = json.loads(held["manifest.json"])
        for row in listed["members"]:
            row["size"], row["sha256"] = len(held[row["path"]]), hashlib.sha256(held[row["path"]]).hexdigest()
        held["manifest.json"] = json.dumps(listed).encode()
        held["manifest.jws"] = detached.sign(held["manifest.json"], own_keys.signer()).encode()
        return verified(packed(held), tmp_path, workspace)

    return run


def test_a_bundle_proves_every_event_of_its_session(begun_here, tmp_path, workspace):
    data = handed_over(begun_here)
    assert {"checkpoint.json", "links.jsonl", "events.pgcopy"} <= set(members(data))
    found = verified(data, tmp_path, workspace)
    assert found.signature.state == "valid"
    assert any(fact.startswith("record: 4 events are what checkpoint 1 of") for fact in found.facts)


def test_what_came_after_the_checkpoint_is_said(begun_here, tmp_path, workspace, monkeypatch):
    making.make_all()
    append(begun_here, event(text="later"))
    monkeypatch.setattr(making, "make_all", lambda: 0)  # as if somebody were appending all the while
    found = verified(handed_over(begun_here), tmp_path, workspace)
    assert any("4 events are what checkpoint 1" in fact and "and 1 that came after it" in fact for fact in found.facts)


def test_the_record_of_an_imported_session(workspace, tmp_path):
    drop(workspace, transcript(6), "clock.jsonl")
    found = verified(handed_over(Session.objects.get()), tmp_path, workspace)
    assert found.signature.state == "valid" and any(fact.startswith("record: ") for fact in found.facts)


def test_the_events_are_a_file_that_postgresql_reads(begun_here):
    rows = members(handed_over(begun_here))["events.pgcopy"]
    with as_owner() as cursor:
        cursor.execute("CREATE TEMP TABLE read_back (LIKE sessions_app_event) ON COMMIT DROP")
        from sessions_app.event_chain import COLUMNS

        with cursor.copy(f"COPY read_back ({', '.join(COLUMNS)}) FROM STDIN (FORMAT binary)") as copy:
            copy.write(rows)
        cursor.execute("SELECT count(*) FROM (TABLE read_back INTERSECT TABLE sessions_app_event) same")
        assert cursor.fetchone()[0] == 4


def replaced(name: str, old: bytes, new: bytes) -> Callable[[dict[str, bytes]], None]:
    def change(held: dict[str, bytes]) -> None:
        assert old in held[name]
        held[name] = held[name].replace(old, new)

    return change


def without_last_event(held: dict[str, bytes]) -> None:
    lines = held["links.jsonl"].splitlines(keepends=True)
    held["links.jsonl"] = b"".join(lines[:-1])


def other_checkpoint(held: dict[str, bytes]) -> None:
    stated = json.loads(held["checkpoint.json"])
    stated["path"] = ["00" * 32, *stated["path"][1:]]
    held["checkpoint.json"] = json.dumps(stated).encode()


def own_statement(held: dict[str, bytes]) -> None:
    stated = json.loads(held["checkpoint.json"])
    stated["header"] = stated["header"].replace('"number":1', '"number":2')
    held["checkpoint.json"] = json.dumps(stated).encode()


@pytest.mark.parametrize(("change", "reason"), [
    (replaced("events.pgcopy", b"a second", b"a SECOND"), "events 2 to 3, or who sent them"),
    (replaced("links.jsonl", b'"origin": "runtime"', b'"origin": "desk"'), "events 1 to 1, or who sent them"),
    (replaced("links.jsonl", b'"last_seq": 4', b'"last_seq": 5'), "event 5 is missing"),
    (replaced("events.pgcopy", b"\xff\xff", b""), "break off"),
    (without_last_event, "event 4 is in no link"),
    (other_checkpoint, "does not lead to the root"),
    (own_statement, "signature is invalid"),
    (replaced("checkpoint.json", b'"kind": "session"', b'"kind": "wallet"'), "another session"),
    (replaced("checkpoint.json", b'"seq": 4', b'"seq": 3'), "does not lead to the root"),
    (lambda held: held.update({"links.jsonl": b"{}\n"}), "line 1 of the links is none"),
    (lambda held: held.update({"checkpoint.json": b"[]"}), "cannot be read"),
    (lambda held: held.update({"events.pgcopy": b"x" * 40}), "no file of PostgreSQL"),
])  # fmt: skip
def test_a_record_that_was_changed_is_named_though_the_bundle_is_signed_anew(begun_here, check, change, reason):
    held = members(handed_over(begun_here))
    change(held)
    found = check(held)
    assert found.signature.state == "invalid" and reason in found.signature.detail, found.signature.detail


def test_a_record_of_another_session_is_not_taken_for_this_one(begun_here, agent, check):
    other = Session.objects.create(workspace=begun_here.workspace, agent=agent)
    append(other, event(text="quite another"))
    held, strange = members(handed_over(begun_here)), members(handed_over(other))
    held |= {name: strange[name] for name in ("checkpoint.json", "links.jsonl", "events.pgcopy")}
    assert "another session" in check(held).signature.detail


def test_a_bundle_of_before_checkpoints_still_verifies(begun_here, check):
    held = members(handed_over(begun_here))
    listed = json.loads(held["manifest.json"])
    gone = ("checkpoint.json", "links.jsonl", "events.pgcopy")
    listed["members"] = [row for row in listed["members"] if row["path"] not in gone]
    del listed["record"]
    held = {name: data for name, data in held.items() if name not in gone}
    held["manifest.json"] = json.dumps(listed).encode()
    found = check(held)
    assert found.signature.state == "valid" and any("of before checkpoints" in fact for fact in found.facts)
