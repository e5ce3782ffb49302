"""Bills of other people's transcripts, one of each format: each division is the session's cost to the last digit."""

from __future__ import annotations

from decimal import Decimal

import pytest

from bench.formats.corpus import File, transcripts
from sessions_app.models import Session
from sessions_app.services.money import bills
from tests.formats.corpus import needs_corpus

from ..imports.test_imports import drop

pytestmark = [pytest.mark.django_db, needs_corpus]
SMALL = 60_000
"""Bytes of a file that is imported here."""


def one_of_each() -> list[File]:
    """Of each format the smallest file that states tokens."""
    found: dict[str, File] = {}
    for file in sorted(transcripts(), key=lambda file: len(file.data)):
        if b"tokens" in file.data and len(file.data) < SMALL:
            found.setdefault(file.format, file)
    return list(found.values())


def test_every_division_is_the_whole_cost(workspace):
    files = one_of_each()
    for file in files:
        drop(workspace, file.data, file.name.rpartition("/")[2])
    sessions = list(Session.objects.filter(workspace=workspace).order_by("pk"))
    costs = 0
    for session in sessions:
        bill = bills.make(session)
        assert bill.total == session.cost_amount, session.source_format
        for lines in (bill.classes, bill.models, bill.agents, bill.tools):
            assert sum((line.amount for line in lines), Decimal(0)) == (bill.total or 0), session.source_format
        costs += bool(bill.total)
    assert len(files) > 8 and costs >= 5
