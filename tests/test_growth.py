"""The data that ``bench.growth`` makes: copies are sessions like those that the product makes itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import override_settings

from bench.growth import copying
from bench.growth.conversations import RARE
from bench.growth.make import make
from bench.growth.plan import Copy, drop, store
from bench.growth.templates import Counts
from sessions_app.models import Approval, FileText, RunFinding, RunSummary, SearchBlock, Session
from sessions_app.queries.sessions import session_list
from sessions_app.services import audit, workspaces
from sessions_app.services.log import projections
from vcon_app.models import Import

pytestmark = pytest.mark.django_db
FEW = Counts(small=8, middle=0, large=0, giant=0, waiting=1)
SESSIONS = 24
LEFT_OUT = {"updated_at", "ended_at", "identity"}
"""When it was computed, and that again where it ends now: in a test now() stands still. And what other sessions know a
response by, which is made of what copies share."""


@pytest.fixture(scope="module")
def copies(django_db_setup, django_db_blocker, tmp_path_factory) -> Iterator[list[Copy]]:
    """A few copies in two workspaces, made once."""
    folder = tmp_path_factory.mktemp("growth")
    places = override_settings(DATA_DIR=folder, DOCUMENTS_DIR=folder / "documents", UNDO_SECONDS=0)
    with django_db_blocker.unblock(), places, transaction.atomic():
        yield make(SESSIONS, FEW)
        transaction.set_rollback(True)


def test_copies_say_what_the_product_computes_from_their_logs(copies) -> None:
    assert {copy.factor for copy in copies} >= {1, 2}
    for copy in copies[::2]:
        before = snapshot(copy)
        assert before["sessions_app_turn"] and before["words"] and before["told"]
        projections.rebuild(copy.copy)
        assert snapshot(copy) == before


def snapshot(copy: Copy) -> dict[str, list[Any]]:
    """All projections of a session by table, in order."""
    session = Session.objects.get(pk=copy.copy)
    of = (session.turns.order_by("index"), session.tool_calls.order_by("seq"), session.requests.order_by("key"),
          Session.objects.filter(pk=session.pk))  # fmt: skip
    found = SearchBlock.objects.filter(session_id=copy.copy).values_list("words", flat=True)
    # In which rows they stand depends on the pieces in which the events came.
    words = sorted({word for row in found for word in row.split()})
    told = list(RunSummary.objects.filter(session_id=copy.copy).values_list("seq", flat=True))
    marked = sorted(RunFinding.objects.filter(session_id=copy.copy).values_list("rule", "workspace_id", "agent_id"))
    return {"words": words, "told": told, "marked": marked} | {
        rows.model._meta.db_table: list(values(rows)) for rows in of
    }


def values(rows: Any) -> Iterator[dict[str, Any]]:
    for row in rows.values():
        yield {name: value for name, value in row.items() if name not in LEFT_OUT}


def test_copies_are_spread_over_workspaces_and_time_and_are_found_by_their_own_words(copies) -> None:
    first, second = workspaces.default_workspace(), copies[0].workspace
    counts = {
        place: Session.objects.filter(workspace_id=place).count() for place in {copy.workspace for copy in copies}
    }
    assert set(counts) >= {first.pk} and sum(counts.values()) == SESSIONS and second in counts
    assert (copies[-1].created - copies[0].created).days > 300
    assert Session.objects.filter(workspace=first).order_by("created_at").last().ended_at is not None
    for copy in copies[:5]:
        found = session_list.filtered(copy.workspace, session_list.SessionFilter(q=copy.word))
        assert [session.pk for session in found] == [copy.copy]
    rare = session_list.filtered(first.pk, session_list.SessionFilter(q=RARE))
    assert 1 <= rare.count() <= 3


def test_approvals_imports_and_audit_entries_belong_to_their_copies(copies) -> None:
    first = workspaces.default_workspace()
    approvals = Approval.objects.filter(session__in=[copy.copy for copy in copies])
    assert approvals and all(one.digest == one.digest_of_question() for one in approvals)
    assert all(one.workspace_id == one.session.workspace_id for one in approvals.select_related("session"))
    imported = Session.objects.filter(pk__in=[copy.copy for copy in copies], origin="import")
    assert imported.count() == Import.objects.filter(session_links__session__in=imported).count() > 0
    assert list(audit.broken_rows(first.pk)) == []


def test_copies_of_imported_sessions_have_the_texts_of_their_files_and_none_is_to_be_looked_through(copies) -> None:
    imported = Session.objects.filter(pk__in=[copy.copy for copy in copies], origin="import")
    texts = FileText.objects.filter(session__in=imported)
    assert imported.count() == texts.exclude(text="").count() > 0
    assert SearchBlock.objects.filter(session__in=imported, first_seq=-1).count() == imported.count()
    assert not FileText.objects.exclude(due_at=None).exists()


def test_copies_have_rows_in_each_table_in_which_their_templates_have_some(copies) -> None:
    with connection.cursor() as cursor:
        store(copies)
        unknown = copying.unknown(cursor)
        drop()
    assert unknown == set()
