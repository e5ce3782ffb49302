"""Share links over the API: made, listed, accepted and withdrawn by reviewers; by nobody else."""

from __future__ import annotations

import pytest
from django.test import Client

from sessions_app.models import Role, Session
from sessions_app.services import audit
from sessions_app.services.people import api_keys
from tests.services.build import append, user
from vcon_app.models import ShareLink
from vcon_app.services.shares import share_links

from ..client import Api, ok, pointers, refused

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("document_storage")]


@pytest.fixture
def shop(session) -> Session:
    share_links.switch(session.workspace, True, by=audit.COMMAND)
    append(session, user("Where is my parcel?"))
    return session


def path(session: Session, *rest: object) -> str:
    return "/".join(["sessions", str(session.pk), "share-links", *map(str, rest)])


def test_a_link_is_made_listed_and_withdrawn(api, shop):
    made = ok(api.post(path(shop), {"hours": 2, "leave_out": ["reasoning", "people"]}), 201)
    assert (made["state"], made["last_seq"], made["opened"]) == ("open", 1, 0)
    url = made.pop("url")
    assert url.startswith("http://testserver/share/")
    assert api.all(path(shop)) == [made], "its address is told once"
    secret = url.rstrip("/").rpartition("/")[2]
    assert share_links.open_page(secret)
    assert api.send("DELETE", f"/api/v1/{path(shop, made['id'])}", b"").status_code == 204
    assert share_links.open_page(secret) is None
    [ended] = api.all(path(shop))
    assert (ended["state"], ended["withdrawn_by"], ended["opened"]) == ("withdrawn", "reviewer key", 1)


@pytest.mark.parametrize(
    ("sent", "where"),
    [
        ({}, "/hours"),
        ({"hours": 0}, "/hours"),
        ({"hours": 721}, "/hours"),
        ({"hours": None}, "/hours"),
        ({"hours": 1, "leave_out": ["everything"]}, "/leave_out/0"),
        ({"hours": 1, "redaction": "0195c5f0-7d1e-8a00-b5d3-0e2a7c1f9b44"}, "/redaction"),
        ({"hours": 1, "forever": True}, "/forever"),
    ],
)
def test_what_cannot_be_shared_is_refused_by_its_place(api, shop, sent, where):
    assert pointers(refused(api.post(path(shop), sent), 422)) == {where}
    assert not ShareLink.objects.exists()


def test_while_links_are_off_none_is_made(api, session):
    append(session, user("Hello"))
    assert "turns them on" in refused(api.post(path(session), {"hours": 1}), 409)["detail"]


def test_who_is_no_reviewer_of_the_workspace_has_none_of_it(api, viewer, stranger, shop, workspace, agent, key_for):
    made = ok(api.post(path(shop), {"hours": 1}), 201)
    narrow = Api(api_keys.create_api_key(workspace, "one", Role.REVIEWER, by=audit.COMMAND, agent=agent)[1])
    robot = key_for(workspace, Role.AGENT)
    for other, status in ((viewer, 403), (narrow, 403), (robot, 404), (stranger, 404)):
        refused(other.post(path(shop), {"hours": 1}), status)
        refused(other.get(path(shop)), status)
        refused(other.post(path(shop, made["id"], "accept")), status)
        assert other.send("DELETE", f"/api/v1/{path(shop, made['id'])}", b"").status_code == status
    assert Client().post(f"/api/v1/{path(shop)}").status_code == 401
    assert ShareLink.objects.get().withdrawn_at is None


def test_a_link_of_another_session_is_not_found(api, shop, agent):
    made = ok(api.post(path(shop), {"hours": 1}), 201)
    other = Session.objects.create(workspace_id=agent.workspace_id, agent=agent)
    refused(api.post(path(other, made["id"], "accept")), 404)
    assert api.send("DELETE", f"/api/v1/{path(other, made['id'])}", b"").status_code == 404


def test_a_held_link_is_accepted_in_the_request_or_after_it(api, shop):
    Session.objects.update(title="Where is my parcel?", user_id="zacharias.quill", tags=["zacharias.quill"])
    held = ok(api.post(path(shop), {"hours": 1, "leave_out": ["people"]}), 201)
    assert (held["state"], held["leak_count"]) == ("held", 1)
    assert ok(api.post(path(shop, held["id"], "accept")))["state"] == "open"
    refused(api.post(path(shop, held["id"], "accept")), 409)
    sent = {"hours": 1, "leave_out": ["people"], "accept": True}
    assert ok(api.post(path(shop), sent), 201)["state"] == "open"
