"""Kept totals are the sum of the sessions' own numbers, over other people's files: in halves, with copies, and deleted.

Two files of each format, the smallest of at most 100 kB. All of them, beside copies that are written at once, are what
``bench.formats.kept_totals`` goes over in minutes.
"""

from __future__ import annotations

from itertools import groupby

import pytest

from bench.formats import kept_totals, stored
from bench.formats.corpus import File
from sessions_app.models import Session, SessionUsage, UsageTotal, Workspace
from sessions_app.queries.money import usage
from sessions_app.services import audit
from sessions_app.services.money import totals
from tests.formats.corpus import needs_corpus
from vcon_app.services.erasure import erasing

pytestmark = [pytest.mark.django_db, needs_corpus]
EACH, BYTES = 2, 100_000
BY = audit.Actor("member", "somebody", "Somebody")


def sample() -> list[File]:
    """Some files of each format, always the same."""
    read = [file for file in kept_totals.all_files() if len(file.data) <= BYTES]
    small = sorted((file.format, len(file.data), file.name, file) for file in read)
    return [row[3] for _, rows in groupby(small, key=lambda row: row[0]) for row in list(rows)[:EACH]]


def check(workspace: Workspace) -> None:
    """All ways to the total are one: kept, of the turns, of the groups of a grouping, and of the sessions."""
    assert kept_totals.differing(workspace) == []


def test_totals_are_what_the_sessions_of_many_formats_used(workspace):
    files = sample()
    assert len({file.format for file in files}) > 10
    for file in files:
        if file.name.endswith(kept_totals.GROWS):
            stored.drop(workspace, stored.first_half(file.data), file)
    check(workspace)
    totals.fold()
    for file in files:
        stored.drop(workspace, file.data, file)
    check(workspace)
    totals.fold()
    check(workspace)
    assert usage.Period(workspace.pk).total().total_tokens
    for number, session in enumerate(Session.objects.filter(workspace=workspace).order_by("pk")):
        if number % 3 == 0:
            erasing.erase_session(session, by=BY)
    check(workspace)
    totals.fold()
    check(workspace)
    for session in Session.objects.filter(workspace=workspace).order_by("pk"):
        erasing.erase_session(session, by=BY)
    totals.fold()
    assert not UsageTotal.objects.exists() and not SessionUsage.objects.exists()
