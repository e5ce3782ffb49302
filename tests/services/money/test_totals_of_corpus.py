"""Kept totals are the sum of the sessions' own numbers, over other people's files: in halves, with copies, and deleted.

Two files of each format, the smallest of at most 100 kB: all 38 MB of them take minutes.
"""

from __future__ import annotations

from decimal import Decimal
from itertools import groupby

import pytest

from bench.formats import corpus, stored
from bench.formats.corpus import File
from sessions_app.models import Session, SessionUsage, UsageTotal, Workspace
from sessions_app.queries.money import usage, usage_of_turns, usage_totals
from sessions_app.queries.money.usage_totals import TOKENS
from sessions_app.services import audit
from sessions_app.services.money import totals
from tests.formats.corpus import needs_corpus
from vcon_app import registry
from vcon_app.services.erasure import erasing

pytestmark = [pytest.mark.django_db, needs_corpus]
EACH, BYTES = 2, 100_000
GROWS = (".jsonl", ".ndjson")
BY = audit.Actor("member", "somebody", "Somebody")
MONEY = ("cost_recorded", "cost_priced")


def sample() -> list[File]:
    """Some files of each format, always the same."""
    files = {file.name: file for file in (*corpus.transcripts(), *corpus.further())}.values()
    read = [file for file in files if file.format in registry.readers() and len(file.data) <= BYTES]
    small = sorted((file.format, len(file.data), file.name, file) for file in read)
    return [row[3] for _, rows in groupby(small, key=lambda row: row[0]) for row in list(rows)[:EACH]]


def sums_of_sessions(workspace: Workspace) -> dict[str, Decimal]:
    """What the sessions themselves say they used: those with a turn, of which usage is."""
    found = Session.objects.filter(workspace=workspace, turns__isnull=False).distinct()
    return {name: sum((Decimal(getattr(one, name) or 0) for one in found), Decimal(0)) for name in (*TOKENS, *MONEY)}


def check(workspace: Workspace) -> None:
    """All ways to the total are one: kept, of the turns, of the groups of a grouping, and of the sessions."""
    everything = {"workspace": workspace.pk, "from": None, "to": None, "agent": "", "origin": "", "tag": ""}
    assert usage_totals.total(everything) == usage_of_turns.total(everything)
    period = usage.Period(workspace.pk)
    own, total = sums_of_sessions(workspace), period.total()
    assert {name: Decimal(getattr(total, name) or 0) for name in own} == own
    by_session = period.groups("session", limit=10_000)
    assert {name: sum((Decimal(getattr(one, name) or 0) for one in by_session), Decimal(0)) for name in own} == own


def test_totals_are_what_the_sessions_of_many_formats_used(workspace):
    files = sample()
    assert len({file.format for file in files}) > 10
    for file in files:
        if file.name.endswith(GROWS):
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
