"""Who sees numbers only: usage, and nothing of what is in a session, on any page that there is."""

from __future__ import annotations

import json
import re
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import URLPattern, get_resolver

from sessions_app.drafts import EventDraft, ToolDraft
from sessions_app.models import Member, Role, Session
from sessions_app.services import audit
from sessions_app.services.log import events, links
from sessions_app.services.people import members
from sessions_app.views.money.usage_filter import GROUPS, PICTURES
from tests.services.build import append, user

from ..build import session_of, words
from ..conftest import signed_in

OPEN = {"home", "usage", "usage-csv", "workspace-switch"}
"""Pages of the desk that they come to: a new one is shut to them until it stands here."""
WITHOUT_DOOR = {
    "sign-in", "password-set", "sign-in-link", "invitation", "sign-out", "service-worker", "manifest", "hook",
    "slack-added", "slack-events", "slack-interactions", "slack-commands", "shared",
}  # fmt: skip
"""Pages without a workspace, and doors of programs, which have keys of their own."""
VALUES = {"uuid": f"{uuid4()}", "int": "1", "slug": "refunds", "str": "x", "path": "x"}


@pytest.fixture
def nora(workspace) -> Client:
    made, _ = members.add_member(
        workspace, "nora@example.org", "Nora", Role.VIEWER, by=audit.COMMAND, numbers_only=True
    )
    return signed_in(made)


@pytest.fixture
def hush(agent) -> Session:
    """A session with contents of each kind."""
    session = session_of(agent, title="Hush title", tags=["vip"])
    append(session, user("Hush prompt"))
    call = ToolDraft(call_id="c", name="Edit", arguments={"file_path": "/hush/file.py"})
    events.append(session.pk, [EventDraft(kind="tool_call", key="t", tool=call)], origin=links.RUNTIME)
    return session


def without_tokens(html: str) -> str:
    """A page without the tokens of its forms and of htmx, which are any letters: two had "hush" in them."""
    return re.sub(r"\b\w{64}\b", "", html)


def pages() -> list[tuple[str, str]]:
    """Name and address of each page of the desk, for things that need not exist."""
    found = []

    def walk(patterns, before=""):
        for one in patterns:
            if not isinstance(one, URLPattern):
                if not str(one.pattern).startswith(("api/", "dashboard/agents", "v1/")):
                    walk(one.url_patterns, before + str(one.pattern))
                continue
            if not one.callback.__module__.startswith(("sessions_app.views", "vcon_app.views")):
                continue
            address = before + str(one.pattern)
            address = re.sub(r"<(\w+):\w+>", lambda hit: VALUES.get(hit[1], VALUES["uuid"]), address)
            found.append((one.name or address, f"/{address}"))

    walk(get_resolver().url_patterns)
    return found


def test_every_page_is_on_the_list_or_shut(nora, hush):
    walked = 0
    for name, address in pages():
        if name in OPEN | WITHOUT_DOOR or not name or "/api/" in address:
            continue
        for method in ("get", "post"):
            answer = getattr(nora, method)(address)
            walked += answer.status_code == 403
            assert answer.status_code in (403, 405), (name, method, address, answer.status_code)
            assert "hush" not in without_tokens(answer.content.decode()).lower()
    assert walked > 150


def test_pages_of_a_session_that_there_is_are_shut_too(nora, hush):
    place = f"/dashboard/sub-agents/{hush.agent_id}/chat/{hush.pk}"
    for address in ("", "/rows", "/events/1", "/files", "/strip", "/facts"):
        assert nora.get(f"{place}{address}").status_code == 403


def test_usage_shows_numbers_and_leads_nowhere(nora, hush):
    for by in GROUPS:
        for picture in PICTURES:
            answer = nora.get(f"/usage/?by={by}&picture={picture}&from=ever")
            page = answer.content.decode()
            assert answer.status_code == (400 if by == "session" else 200), (by, picture)
            assert (
                "hush" not in without_tokens(page).lower() and "/sessions/" not in page and "/dashboard/" not in page
            ), (by, picture)
        table = nora.get(f"/usage/table.csv?by={by}&from=ever")
        assert table.status_code == (400 if by == "session" else 200) and "hush" not in table.content.decode().lower()


def test_they_see_what_it_cost(nora, hush):
    page = words(nora.get("/usage/?by=agent"))
    assert "$0.25 total" in page and hush.agent.name in page and "By session" not in page


def test_a_viewer_beside_them_sees_where_numbers_come_from(viewer, hush):
    page = viewer.get("/usage/").content.decode()
    assert "/sessions/?used_from=" in page and "By session" in words(viewer.get("/usage/"))


def test_the_first_page_leads_to_usage_and_the_bar_to_nothing_else(nora, hush):
    answer = nora.get("/")
    assert (answer.status_code, answer.url) == (302, "/usage/")
    bar = words(nora.get("/usage/")).split("More filters")[0]
    assert "Approvals" not in bar and "Settings" not in bar and "Wallets" not in bar and "numbers only" in bar


def test_it_is_a_choice_of_the_members_page_and_ends_with_another_role(admin, nora):
    member = Member.objects.get(user__first_name="Nora")
    assert '<option value="numbers" selected>' in admin.get("/settings/").content.decode()
    admin.post(f"/settings/members/{member.pk}/role/", {"role": "reviewer"})
    member.refresh_from_db()
    assert (member.role, member.numbers_only) == (Role.REVIEWER, False)
    assert nora.get("/sessions/").status_code == 200
    admin.post(f"/settings/members/{member.pk}/role/", {"role": "numbers"})
    assert nora.get("/sessions/").status_code == 403


def test_somebody_is_added_so_from_the_first_moment_on(admin, workspace):
    admin.post("/settings/members/", {"name": "Nils", "email": "nils@example.org", "role": "numbers"})
    made = Member.objects.get(user__first_name="Nils")
    assert (made.role, made.numbers_only) == (Role.VIEWER, True)


def test_who_has_an_account_is_invited_so(admin, charlie, workspace):
    answer = admin.post(
        "/settings/members/", {"name": "Charlie", "email": "charlie@example.org", "role": "numbers"}, follow=True
    )
    path = "/invitations/" + answer.content.decode().split("/invitations/", 1)[1].split("<", 1)[0]
    form = {"answer": "accept", "password": "a long pass phrase", "repeated": "a long pass phrase"}
    charlie.post(path, form)
    made = Member.objects.filter(workspace=workspace, user__first_name="Charlie").first()
    assert made is None or made.numbers_only


def test_only_a_viewer_can_be_so(workspace, nora):
    with pytest.raises(IntegrityError), transaction.atomic():
        Member.objects.filter(user__first_name="Nora").update(role=Role.ADMIN)


def test_json_of_the_picture_has_no_addresses(nora, hush):
    page = nora.get("/usage/").content.decode()
    days = json.loads(page.split('data-points="', 1)[1].split('"', 1)[0].replace("&quot;", '"'))
    assert {day["url"] for day in days} == {""}
