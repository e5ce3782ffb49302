"""What is sealed stays as it was: a signature is of one file, and says which events of a session it covers."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from sessions_app.models import Event, Session
from sessions_app.queries.sessions import provenance
from sessions_app.services import audit, sessions
from sessions_app.services.approvals import requests
from vcon_app.models import Import, ImportedSession
from vcon_app.services.trust import anchors, signatures

from ...signing.make import (  # fmt: skip
    START,
    VCON,
    b64,
    ed_key,
    feed,
    public_pem,
    recorder,
    signed,
)

pytestmark = pytest.mark.django_db
ONE = VCON | {"dialog": VCON["dialog"][:1]}
WHOLE = {"first_seq": 1, "last_seq": 2}
BY = audit.Actor("api_key", "1", "a hook")
LASTING = (START, timezone.now() + timedelta(days=3650))


def by_us() -> Any:
    return recorder(dates=LASTING)


def zipped(**members: Any) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.vcon", json.dumps(content))
    return packed.getvalue()


def changed(jws: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    """A signed file whose content somebody exchanged."""
    return jws | {"payload": b64(json.dumps(content).encode())}


def signature_of(session: Session) -> dict[str, Any]:
    return provenance.provenance_of([session.pk])[session.pk].signature


def texts() -> list[list[str]]:
    found = Session.objects.order_by("created_at")
    return [list(one.events.order_by("seq").values_list("text", flat=True)) for one in found]


QUESTION, ANSWER = (dialog["body"] for dialog in VCON["dialog"])


def test_a_signed_file_covers_its_events(import_document):
    import_document(signed(VCON, by_us()))
    assert signature_of(Session.objects.get())["covers"] == WHOLE


def test_an_unsigned_file_covers_nothing(import_document):
    import_document(VCON)
    assert "covers" not in signature_of(Session.objects.get())


def test_an_invalid_signature_covers_nothing(import_document):
    import_document(changed(signed(ONE, by_us()), VCON))
    signature = signature_of(Session.objects.get())
    assert signature["state"] == "invalid" and "covers" not in signature


@pytest.mark.parametrize("first", [ONE, signed(ONE, by_us()), changed(signed(VCON, by_us()), ONE)])
def test_a_signed_file_adds_to_no_session_that_is_there(import_document, first):
    import_document(first)
    longer = import_document(signed(VCON, by_us()))
    session = longer.session_links.get().session
    assert texts() == [[QUESTION], [QUESTION, ANSWER]]
    assert (longer.events, signature_of(session)["covers"]) == (2, WHOLE)
    assert session.metadata["version_of"] == str(Session.objects.earliest("created_at").pk)


@pytest.mark.parametrize("first", [signed(ONE, by_us()), changed(signed(VCON, by_us()), ONE)])
def test_an_unsigned_file_adds_nothing_to_what_was_signed(import_document, first):
    import_document(first)
    import_document(VCON)
    assert texts() == [[QUESTION], [QUESTION, ANSWER]]


def test_an_unsigned_file_that_grew_still_adds_its_end(import_document):
    import_document(ONE)
    import_document(VCON)
    assert texts() == [[QUESTION, ANSWER]]


def test_a_version_that_is_unsigned_goes_on_growing_beside_the_signed_one(import_document):
    import_document(signed(ONE, by_us()))
    import_document(VCON | {"subject": "B"})
    third = VCON["dialog"] + [VCON["dialog"][1] | {"body": "And the bells?"}]
    import_document(VCON | {"dialog": third})
    assert texts() == [[QUESTION], [QUESTION, ANSWER, "And the bells?"]]


@pytest.mark.parametrize(
    "members",
    [
        {"a": signed(ONE, by_us()), "b": VCON},
        {"a": ONE, "b": signed(VCON, by_us())},
        {"a": signed(ONE, by_us()), "b": signed(VCON, by_us())},
    ],
)
def test_members_of_an_archive_are_kept_apart_like_files(import_document, members):
    import_document(zipped(**members), "chats.zip")
    assert texts() == [[QUESTION], [QUESTION, ANSWER]]
    for session, content in zip(Session.objects.order_by("created_at"), members.values(), strict=True):
        covers = {"first_seq": 1, "last_seq": session.last_seq} if "payload" in content else None
        assert signature_of(session).get("covers") == covers


def test_unsigned_members_of_an_archive_grow_as_files_do(import_document):
    import_document(zipped(a=ONE, b=VCON), "chats.zip")
    assert texts() == [[QUESTION, ANSWER]]


def test_a_collection_that_holds_a_signed_file_again_makes_no_second_session_of_it(import_document):
    import_document(zipped(a=signed(VCON, by_us())), "monday.zip")
    import_document(zipped(a=signed(VCON, by_us()), b=VCON | {"uuid": "b"}), "tuesday.zip")
    assert Session.objects.count() == 2
    assert signature_of(Session.objects.earliest("created_at"))["covers"] == WHOLE


def test_what_the_desk_adds_stands_behind_what_is_covered(import_document):
    import_document(ONE)
    session = Session.objects.get()
    requests.request(session, requests.Question("wind", {}), by=BY)
    sessions.archive(session, by=BY)
    import_document(signed(VCON, by_us()))
    of_signed = Session.objects.latest("created_at")
    sessions.archive(of_signed, by=BY)
    assert signature_of(of_signed)["covers"] == WHOLE


@pytest.mark.parametrize("content", [signed(VCON, by_us()), changed(signed(ONE, by_us()), VCON)])
def test_nobody_asks_in_a_session_that_was_read_from_a_signed_file(import_document, content):
    import_document(content)
    with pytest.raises(sessions.ReadFromFile, match="signed file .* new session"):
        requests.request(Session.objects.get(), requests.Question("wind", {}), by=BY)
    assert Event.objects.count() == 2


def test_a_key_that_is_trusted_later_makes_the_signature_cover_its_events(workspace, import_document):
    key = ed_key()
    import_document(feed(key), "shelf.json")
    session = Session.objects.get()
    assert signature_of(session)["state"] == "uncheckable" and "covers" not in signature_of(session)
    anchors.add(workspace, public_pem(key), by=audit.COMMAND, origin="https://desk.example")
    signatures.check_again(workspace.pk)
    assert signature_of(session)["covers"] == {"first_seq": 1, "last_seq": session.last_seq}


TRACE = [{"role": "user", "content": "Is it there?"}, {"role": "assistant", "content": "Yes."}]


def test_a_feed_whose_signature_leaves_parts_out_covers_the_others_alone(workspace, import_document):
    key = ed_key()
    anchors.add(workspace, public_pem(key), by=audit.COMMAND, origin="https://desk.example")
    import_document(feed(key) | {"conversation_trace": TRACE}, "shelf.json")
    session = Session.objects.get()
    places = list(session.events.order_by("seq").values_list("pointer", flat=True))
    assert any(place.startswith("/conversation_trace") for place in places)
    covers = signature_of(session)["covers"]
    covered = places[covers["first_seq"] - 1 : covers["last_seq"]]
    assert covered and not any(place.startswith("/conversation_trace") for place in covered)


def test_a_feed_whose_signature_leaves_all_events_out_covers_none(workspace, import_document):
    key = ed_key()
    anchors.add(workspace, public_pem(key), by=audit.COMMAND, origin="https://desk.example")
    import_document(feed(key, ["metadata"]) | {"conversation_trace": TRACE}, "shelf.json")
    assert signature_of(Session.objects.get())["state"] == "valid"
    assert "covers" not in signature_of(Session.objects.get())


def test_a_repeat_of_an_import_says_the_same(import_document):
    same = signed(VCON, by_us())
    import_document(same)
    repeat = import_document(same)
    assert repeat.duplicate_of is not None
    assert repeat.session_links.get().signature["covers"] == WHOLE


def test_a_file_knows_which_events_it_added(import_document):
    import_document(ONE)
    import_document(VCON)
    assert list(ImportedSession.objects.order_by("pk").values_list("first_seq", "last_seq")) == [(1, 1), (2, 2)]
    assert Import.objects.count() == 2
