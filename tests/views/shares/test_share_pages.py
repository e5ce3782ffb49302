"""The pages of share links: who makes them, and the door that opens without an account."""

from __future__ import annotations

import asyncio
import re
from zoneinfo import ZoneInfo

import pytest
from django.test import AsyncClient, Client

from sessions_app.models import AuditEntry, Session
from sessions_app.services import audit
from sessions_app.services.people import sign_in_throttle
from vcon_app.models import ShareLink
from vcon_app.services.erasure import erasing
from vcon_app.services.shares import share_links

from ..build import session_of, words

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("document_storage")]
ADMIN = audit.Actor("command", name="Ada")


@pytest.fixture
def shop(agent) -> Session:
    share_links.switch(agent.workspace, True, by=ADMIN)
    return session_of(agent, title="Order of a parcel")


def at(session: Session, *rest: str) -> str:
    return "/".join(["", "sessions", str(session.pk), "share", *rest, ""])


def made_by(client: Client, session: Session, **sent) -> str:
    """Path of a new link."""
    answer = client.post(at(session), {"hours": "24", **sent}, follow=True)
    assert answer.redirect_chain == [(at(session), 302)], words(answer)
    assert answer.headers["Cache-Control"] == "no-store"
    return re.search(r"/share/[\w-]{43}/", answer.content.decode())[0]


def fetch(path: str, method: str = "get", **headers):
    """The answer to somebody without an account, read to its end."""

    async def run():
        answer = await getattr(AsyncClient(), method)(path, headers=headers)
        answer.page = b"".join([piece async for piece in answer]) if answer.streaming else answer.content
        return answer

    return asyncio.run(run())


def test_a_reviewer_makes_a_link_that_opens_without_an_account(reviewer, shop):
    path = made_by(reviewer, shop)
    answer = fetch(path)
    assert answer.status_code == 200
    assert b"Order of a parcel" in answer.page and b"<b>Rosa</b>" in answer.page
    assert path.split("/")[2] not in words(reviewer.get(at(shop))), "it is shown once"
    assert "opened 1 time" in words(reviewer.get(f"/dashboard/sub-agents/{shop.agent_id}/chat/{shop.pk}/facts"))


def test_a_link_without_cost_says_so_in_its_lists(reviewer, admin, shop):
    reviewer.post(at(shop), {"hours": "24", "what": ["reasoning"], "without_cost": "on"})
    assert ShareLink.objects.get().without_cost
    facts = f"/dashboard/sub-agents/{shop.agent_id}/chat/{shop.pk}/facts"
    for client, place in ((reviewer, at(shop)), (admin, "/settings/"), (reviewer, facts)):
        assert "without: reasoning , what it cost" in words(client.get(place)), place
    again = reviewer.post(at(shop), {"hours": "0", "without_cost": "on"})
    assert again.status_code == 422 and 'name="without_cost" checked' in again.content.decode()


def test_when_a_link_ends_is_said_by_the_clock_of_the_reader(reviewer, shop):
    """It said UTC of that clock."""
    made_by(reviewer, shop)
    ends = ShareLink.objects.get().expires_at.astimezone(ZoneInfo("Asia/Tokyo"))
    reviewer.cookies["zone"] = "Asia%2FTokyo"
    assert f"{ends:%Y-%m-%d %H:%M} JST" in words(reviewer.get(at(shop)))


def test_the_page_may_load_and_run_nothing(reviewer, shop):
    headers = fetch(made_by(reviewer, shop)).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "sandbox" in policy and "script" not in policy and "unsafe" not in policy
    assert re.search(r"style-src 'sha256-[\w+/]{43}='", policy)
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "noindex" in headers["X-Robots-Tag"]
    assert headers["Cache-Control"] == "no-store"
    assert "Set-Cookie" not in headers


def test_who_has_a_link_that_ended_is_told_so_and_when(reviewer, shop):
    path = made_by(reviewer, shop)
    unknown = fetch(f"/share/{'A' * 43}/")
    reviewer.post(at(shop, str(ShareLink.objects.get().pk), "withdraw"))
    withdrawn = fetch(path, Cookie="zone=Asia%2FTokyo")
    ended = ShareLink.objects.get().withdrawn_at
    ShareLink.objects.update(withdrawn_at=None, expires_at="2020-01-01T00:00Z")
    expired = fetch(path)
    assert [answer.status_code for answer in (unknown, withdrawn, expired)] == [404, 410, 410]
    assert "It showed a session of an agent until 2020-01-01 00:00 UTC" in words(expired)
    assert "This link was withdrawn" in words(withdrawn) and f"on {ended:%Y-%m-%d %H:%M} UTC" in words(withdrawn)
    assert "expired" not in words(unknown) and "session" not in words(unknown)
    for answer in (unknown, withdrawn, expired):
        assert not [name for name in (shop.title, str(shop.pk), "Ada", "/sign-in") if name in answer.page.decode()]
        assert {**answer.headers, "Content-Length": ""} == {**unknown.headers, "Content-Length": ""}
    assert "noindex" in unknown.headers["X-Robots-Tag"]
    policy = unknown.headers["Content-Security-Policy"]
    assert "font-src 'self'" in policy and "sandbox" not in policy  # a font is given to no page without an origin


def test_a_link_of_an_erased_session_is_as_one_that_never_was(reviewer, shop):
    path = made_by(reviewer, shop)
    erasing.erase_session(shop, by=ADMIN)
    assert fetch(path).page == fetch(f"/share/{'A' * 43}/").page


def test_programs_that_look_ahead_learn_nothing(reviewer, shop):
    path = made_by(reviewer, shop)
    assert {fetch(path, "head").status_code, fetch(f"/share/{'A' * 43}/", "head").status_code} == {405}
    assert ShareLink.objects.get().opened == 0


def test_who_guesses_waits_and_who_has_a_link_does_not_count(reviewer, shop, monkeypatch):
    monkeypatch.setitem(sign_in_throttle.RULES, "link at address", sign_in_throttle.Rule(3, 60, 900))
    path = made_by(reviewer, shop)
    assert [fetch(path).status_code for _ in range(5)] == [200] * 5
    assert [fetch(f"/share/{'A' * 42}{n}/").status_code for n in range(4)] == [404, 404, 404, 429]
    waits = fetch(path)
    assert waits.status_code == 429 and int(waits.headers["Retry-After"]) > 0, "nor is a right one looked at meanwhile"


def test_who_opens_a_link_that_has_ended_again_and_again_guesses_nothing(reviewer, shop, monkeypatch):
    monkeypatch.setitem(sign_in_throttle.RULES, "link at address", sign_in_throttle.Rule(3, 60, 900))
    path = made_by(reviewer, shop)
    ShareLink.objects.update(expires_at="2020-01-01T00:00Z")
    assert [fetch(path).status_code for _ in range(5)] == [410] * 5


def test_a_viewer_makes_accepts_and_withdraws_nothing(reviewer, viewer, shop):
    made_by(reviewer, shop)
    link = ShareLink.objects.get()
    assert viewer.get(at(shop)).status_code == 403
    for path in (at(shop), at(shop, str(link.pk), "withdraw"), at(shop, str(link.pk), "accept")):
        assert viewer.post(path, {"hours": "24"}).status_code == 403
    assert ShareLink.objects.get().withdrawn_at is None
    facts = words(viewer.get(f"/dashboard/sub-agents/{shop.agent_id}/chat/{shop.pk}/facts"))
    assert "Share links" in facts and "Make or withdraw" not in facts


def test_only_an_admin_turns_them_on_and_off(reviewer, admin, agent):
    assert reviewer.post("/settings/share-links/", {"on": "true"}).status_code == 403
    session = session_of(agent)
    assert "Share links are off" in words(reviewer.get(at(session)))
    refused = reviewer.post(at(session), {"hours": "1"})
    assert refused.status_code == 422 and "share links are off" in words(refused)
    admin.post("/settings/share-links/", {"on": "true"})
    path = made_by(reviewer, session)
    page = admin.get("/settings/")
    assert "They are on" in words(page) and session.title in words(page)
    asked = page.content.decode().partition("Turn off…</summary>")[2].partition("</details>")[0]
    assert "1 link that works ends for good" in asked and 'value="false"' in asked, "no one click ends all links"
    admin.post("/settings/share-links/", {"on": "false"})
    assert fetch(path).status_code == 410
    told = AuditEntry.objects.filter(action__startswith="workspace.sharing").order_by("seq")
    assert list(told.values_list("action", flat=True)) == [
        "workspace.sharing_on", "workspace.sharing_off",
    ]  # fmt: skip


def test_another_workspace_has_none_of_it(reviewer, charlie, shop):
    made_by(reviewer, shop)
    link = ShareLink.objects.get()
    assert charlie.get(at(shop)).status_code == 404
    for path in (at(shop), at(shop, str(link.pk), "withdraw"), at(shop, str(link.pk), "accept")):
        assert charlie.post(path, {"hours": "24"}).status_code == 404
    assert "parcel" not in words(charlie.get("/settings/"))
    assert ShareLink.objects.get().withdrawn_at is None


def test_links_are_of_their_own_session_alone(reviewer, shop, agent):
    made_by(reviewer, shop)
    other = session_of(agent, title="Other")
    assert reviewer.post(at(other, str(ShareLink.objects.get().pk), "withdraw")).status_code == 404


def test_nothing_chosen_is_lost_when_a_link_cannot_be_made(reviewer, shop):
    answer = reviewer.post(at(shop), {"hours": "9999", "what": ["people", "title"]})
    assert answer.status_code == 422 and "works for 1 to 720 hours" in words(answer)
    html = answer.content.decode()
    assert html.partition("<dialog")[0].count(" checked") == 2
    unknown = reviewer.post(at(shop), {"hours": "24", "redaction": str(shop.pk)})
    assert unknown.status_code == 422 and "no such redaction" in words(unknown)


def test_a_legal_basis_that_grants_nothing_has_to_be_confirmed(reviewer, shop):
    grants = [{"purpose": "agent_session_redistribution", "granted": False}]
    basis = {"lawful_basis": "contract", "expiration": "2099-01-01T00:00:00Z", "purpose_grants": grants}
    Session.objects.filter(pk=shop.pk).update(metadata={"lawful_basis": [basis]})
    assert reviewer.post(at(shop), {"hours": "24"}).status_code == 422
    made_by(reviewer, shop, redistribution="confirmed")
    assert AuditEntry.objects.get(action="session.shared").details["redistribution_confirmed"] is True


def test_a_held_link_shows_what_still_stands_and_opens_when_accepted(reviewer, shop):
    Session.objects.filter(pk=shop.pk).update(user_id="zacharias.quill", tags=["for zacharias.quill"])
    path = made_by(reviewer, shop, what="people")
    page = reviewer.get(at(shop))
    assert "still stand in 1 place" in words(page) and "zacharias.quill" in words(page)
    assert fetch(path).status_code == 404
    ShareLink.objects.update(leak_count=13)
    assert "and 3 more" in words(reviewer.get(at(shop))), "ten of them are listed"
    reviewer.post(at(shop, str(ShareLink.objects.get().pk), "accept"))
    assert fetch(path).status_code == 200
