"""Which copies are made: of which template, when, in which workspace, by how much their counts are multiplied."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection

from sessions_app.models import Agent, Member, Workspace

from . import copying
from .templates import GIANT, KEPT, LARGE, MIDDLE, SMALL, WAITING, Template

DAYS = 730
WAITING_DAYS = 7
"""What waits is not older."""
GIANTS = {1_000: 1, 10_000: 1, 100_000: 3}
SHARES = {MIDDLE: 0.05, LARGE: 0.0077, WAITING: 0.01}
"""Of all sessions; all others are small."""
RUNNING = 5
"""Of the newest ones."""

TABLE = """
CREATE {kind} TABLE growth_plan (
    n int PRIMARY KEY, template uuid, copy uuid, workspace uuid, agent uuid, member uuid, created timestamptz,
    factor int, word text, status text, phase text, document uuid, sha256 text, import uuid
)
"""


@dataclass(frozen=True, slots=True)
class Place:
    """A workspace that is filled."""

    workspace: Workspace
    agents: Sequence[Agent]
    admin: Member


@dataclass(frozen=True, slots=True)
class Copy:
    """A session to be made. ``n`` counts them in the order of ``created``."""

    n: int
    template: UUID
    copy: UUID
    workspace: UUID
    agent: UUID
    member: UUID
    created: datetime
    factor: int
    """What tokens and money are multiplied by."""
    word: str
    status: str
    phase: str
    document: UUID
    sha256: str
    imported: UUID


def copies(templates: Sequence[Template], places: Sequence[Place], sessions: int, now: datetime) -> Iterator[Copy]:
    """So many copies over ``DAYS`` until ``now``, nine of ten in the first place, in order of time."""
    dice = random.Random(f"plan {sessions}")
    chosen = list(_chosen(dice, templates, sessions))
    drawn = sorted(((_moment(dice, template, now), template) for template in chosen), key=lambda pair: pair[0])
    for n, (created, template) in enumerate(drawn, 1):
        # The giant ones and those with the rare word stand in the first workspace, where they are looked for.
        place = places[0] if template.kind in (GIANT, KEPT) or dice.random() < 0.9 else places[1]
        yield Copy(
            n, template.session, _uuid7(dice, created), place.workspace.pk, place.agents[template.agent].pk,
            place.admin.pk, created, dice.choice((1, 1, 1, 2, 3)), f"ord{n:07}", _status(dice, template, n, sessions),
            dice.choices(("completed", "active", "crashed", "timed_out"), weights=(80, 17, 2, 1))[0],
            _uuid7(dice, created), f"{dice.getrandbits(256):064x}", _uuid7(dice, created),
        )  # fmt: skip


def _chosen(dice: random.Random, templates: Sequence[Template], sessions: int) -> Iterator[Template]:
    """A template for each copy."""
    of = {kind: [one for one in templates if one.kind == kind] for kind in (SMALL, MIDDLE, LARGE, GIANT, WAITING, KEPT)}
    counts = {kind: round(sessions * share) if of[kind] else 0 for kind, share in SHARES.items()}
    counts |= {KEPT: len(of[KEPT]), GIANT: GIANTS.get(sessions, 1) if of[GIANT] else 0}
    for number in range(counts[KEPT]):
        yield of[KEPT][number]
    for kind in (*SHARES, GIANT):
        for _ in range(counts[kind]):
            yield dice.choice(of[kind])
    for _ in range(sessions - sum(counts.values())):
        yield dice.choice(of[SMALL])


def _moment(dice: random.Random, template: Template, now: datetime) -> datetime:
    """When a copy is created."""
    days = WAITING_DAYS if template.kind == WAITING else DAYS
    least = timedelta(days=30 if template.kind == GIANT else 0)  # on no page of a short period, at any size
    return now - template.age - least - dice.random() * (timedelta(days=days) - least)


def _status(dice: random.Random, template: Template, n: int, sessions: int) -> str:
    if n > sessions - RUNNING and not template.is_imported:
        return "running"
    return "archived" if dice.random() < 0.2 and template.kind != WAITING else "idle"


def _uuid7(dice: random.Random, at: datetime) -> UUID:
    """As ``sessions_app.ids`` makes them, of another time."""
    milliseconds = int(at.timestamp() * 1_000)
    return UUID(int=milliseconds << 80 | 0x7 << 76 | dice.getrandbits(12) << 64 | 0x2 << 62 | dice.getrandbits(62))


def store(planned: Sequence[Copy]) -> None:
    """Write the plan into a table, which the copying reads: for more than a batch by connections of its own."""
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS growth_plan")
        cursor.execute(TABLE.format(kind="UNLOGGED" if len(planned) > copying.BATCH else "TEMPORARY"))
        with cursor.copy("COPY growth_plan FROM STDIN") as rows:
            for copy in planned:
                rows.write_row(astuple(copy))
        cursor.execute("ANALYZE growth_plan")


def drop() -> None:
    """Drop that table."""
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE growth_plan")
