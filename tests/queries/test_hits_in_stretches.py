"""Hits in context: of a stretch no more is read than is shown, and what is shown is as if all of it were read."""

from __future__ import annotations

import random

import pytest
from django.db import connection

from sessions_app.models import Session
from sessions_app.queries.log import hits
from sessions_app.services import audit, sessions
from tests.growth.reads import counted
from tests.services.build import append, user

pytestmark = pytest.mark.django_db
SAID = ("a refund", "an order", "a refund of the order", "nothing of the kind")
WORDS = ("refund", "refund order", '"refund of"', "refund or order", "refund -order", "nowhere")


@pytest.fixture
def some(agent) -> list[Session]:
    """Sessions of up to three stretches that say it seldom or often."""
    dice, made = random.Random(7), []
    for _ in range(16):
        session = sessions.create(agent, by=audit.SYSTEM)
        weights = dice.choice(((1, 1, 0, 9), (1, 1, 1, 60), (6, 6, 1, 6), (0, 1, 2, 90)))
        append(session, *(user(text) for text in dice.choices(SAID, weights, k=dice.choice((5, 33, 64, 70, 150)))))
        made.append(Session.objects.get(pk=session.pk))
    return made


@pytest.mark.parametrize("words", WORDS)
def test_the_hits_are_those_of_whole_stretches(some, words, monkeypatch):
    found = {first: found_with(some, words, first, monkeypatch) for first in (64, 32, 3, 1)}
    assert all(one == found[64] for one in found.values())


def found_with(some, words, first, monkeypatch):
    monkeypatch.setattr(hits, "FIRST", first)
    return hits.hits_of(some, words, hits.Narrowing())


@pytest.mark.parametrize("are_known", [True, False], ids=["with statistics", "by those of an empty log"])
def test_of_a_common_word_half_of_a_stretch_is_read(agent, are_known):
    session = sessions.create(agent, by=audit.SYSTEM)
    append(session, user("an order"))
    take_statistics()
    append(session, *(user("a refund") for _ in range(200)))
    if are_known:
        take_statistics()
    with counted() as reads:
        found = hits.hits_of([session], "refund", hits.Narrowing())[session.pk]
    assert (len(found.shown), found.more) == (3, True)
    of_events = sum(rows for name, rows in reads.by_relation.items() if "event" in name)
    assert of_events == hits.FIRST


def take_statistics() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE sessions_app_event")
