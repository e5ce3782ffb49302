"""The session list folds what comes in crowds: one-call sessions, and the samples of one evaluation log."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone

from sessions_app.models import Session
from sessions_app.queries.sessions import folding
from sessions_app.services import sessions
from sessions_app.services.approvals import endings
from sessions_app.views import session_list
from tests.services.build import append, call, result
from vcon_app.models import Import, ImportedSession, SourceDocument

from ..build import ASKER, asks, session_of, words


def titles(response) -> list[str]:
    return re.findall(r'data-row href="[^"]*/chat/[^"]*"[^>]*>([^<]*)</a>', response.content.decode())


def one_call(agent, title: str = "run_sql · warehouse") -> Session:
    made = sessions.create(agent, by=ASKER, title=title)
    append(made, call("c1"), result("c1"))
    Session.objects.filter(pk=made.pk).update(started_at=timezone.now())
    return made


@pytest.fixture
def log(workspace, agent) -> Import:
    """An evaluation log of five samples, a file of two conversations, and one that is by itself."""
    document = SourceDocument.objects.create(workspace=workspace, sha256="0" * 64, size=1)
    made = [
        Import.objects.create(
            workspace=workspace, document=document, filename=name, status="done", format=format, findings=[]
        )
        for name, format in (("a.eval", "inspect"), ("b.json", "chatgpt-export"))
    ]
    for number in range(7):
        imported = made[number // 5]
        session = session_of(agent, f"Sample {number}", source_format=imported.format, origin="import")
        ImportedSession.objects.create(imported=imported, session=session, document=document, events=2)
    session_of(agent, "Alone")
    return made[0]


def test_one_call_sessions_are_counted_and_shown_when_asked_for(viewer, agent):
    session_of(agent, "Work")
    for _ in range(3):
        one_call(agent)
    asks(one_call(agent, "Waits"))
    page = viewer.get("/sessions/")
    assert titles(page) == ["Waits", "Work"]
    assert "3 one-call sessions (a tool call without a message) between these are folded" in words(page)
    assert "5 sessions" in words(page)
    assert 'href="?fold=no"' in page.content.decode() and len(titles(viewer.get("/sessions/?fold=no"))) == 5
    assert len(titles(viewer.get("/sessions/?status=idle"))) == 5, "who looks for something sees all of it"


def test_a_question_that_the_api_made_a_session_for_is_folded_once_it_is_over(viewer, agent):
    session_of(agent, "Work")
    asked = [sessions.create(agent, by=ASKER, title=f"delete_bucket · {n}", origin="api") for n in range(2)]
    over, _ = [asks(one) for one in asked]
    assert titles(viewer.get("/sessions/")) == ["delete_bucket · 1", "delete_bucket · 0", "Work"]
    endings.cancel(over, reason="", by=ASKER)
    page = viewer.get("/sessions/")
    assert titles(page) == ["delete_bucket · 1", "Work"] and "1 one-call session" in words(page)


def test_where_there_is_nothing_else_they_are_shown(viewer, agent):
    one_call(agent)
    page = viewer.get("/sessions/")
    assert len(titles(page)) == 1 and "folded" not in words(page)


def test_a_log_of_many_samples_is_one_row_that_opens(viewer, log):
    page = viewer.get("/sessions/?sort=title")
    assert titles(page) == ["Alone", "Sample 0", "Sample 5", "Sample 6"]
    assert "and 4 more of its log" in words(page) and "8 sessions" in words(page)
    opened = viewer.get(f"/sessions/?import={log.pk}&sort=title")
    assert titles(opened) == [f"Sample {number}" for number in range(5)]
    assert "of one import" in words(opened)


def test_the_first_page_has_one_row_for_a_log_too(viewer, log):
    recent = words(viewer.get("/")).split("Recent sessions")[1]
    assert recent.count("Sample") == 3 and "and 4 more of its log" in recent and "Alone" in recent


def test_pages_that_fold_hold_every_other_session_once(viewer, agent, log, monkeypatch):
    monkeypatch.setattr(session_list, "ROWS", 2)
    monkeypatch.setattr(folding, "STRETCH", 3)
    for number in range(4):
        one_call(agent, f"Call {number}")
    seen, place, folded = [], "?sort=title", 0
    while place:
        page = viewer.get(f"/sessions/{place}").content.decode()
        seen += re.findall(r'data-row href="[^"]*/chat/[^"]*"[^>]*>([^<]*)</a>', page)
        folded += int((re.search(r"(\d+) one-call", page) or [0, 0])[1])
        more = re.search(r'href="(\?[^"]*cursor=[^"]*)"', page)
        place = more[1].replace("&amp;", "&") if more else ""
    assert seen == ["Alone", "Sample 0", "Sample 5", "Sample 6"] and folded == 4


@pytest.mark.parametrize(("query", "says"), [("fold=yes", "folds nothing; use no"), ("import=x", "is no import")])
def test_what_means_nothing_is_told(viewer, query, says):
    answer = viewer.get(f"/sessions/?{query}")
    assert answer.status_code == 400 and says in words(answer)


def test_an_import_of_another_workspace_leads_to_nothing(charlie, log):
    assert titles(charlie.get(f"/sessions/?import={log.pk}")) == []
