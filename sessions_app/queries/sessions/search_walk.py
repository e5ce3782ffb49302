"""A page of the sessions that say some words, the newest first: time is gone through backwards until it is full.

The rarest of the words leads. The index tells its sessions of one stretch of time after the other, each as long as the
rest of the page should need (``migrations/_search_in_order_0047``); these are asked for the other words. So a page
reads about as many rows of the index as it shows sessions, however many have the words in all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import ceil
from uuid import UUID

from django.db.models import Q, Value
from django.db.models.lookups import GreaterThanOrEqual, LessThan

from sessions_app.models import EventText, SearchBacklog
from sessions_app.models.session_order import STARTED
from sessions_app.search import typed
from sessions_app.search.operators import Read
from sessions_app.search.typed import Term

from . import said

ROUNDS = 5
"""Stretches of one page, each of at most twice as many sessions. Where they do not fill it, other filters leave hardly
any of the sessions that say the words: then each is asked by itself, see ``said``."""
MARGIN = 1.25
"""So many times the sessions that should fill a page are looked at: fewer would often need one stretch more."""
LAST = datetime.max.replace(tzinfo=UTC)
ENOUGH = 8
"""Sessions that tell how rare a word is."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A condition on sessions that began in a stretch of time, and what each that a list comes to is to be asked
    besides: whether it has words side by side, for which its events are read (None: nothing)."""

    found: Q
    asked: Q | None = None


def with_files(read: Read) -> Read:
    """The same search with the paths of ``file:`` among its words, side by side, as ``conditions`` has them."""
    if len(typed.read(read.words).alternatives) > 1:
        return read
    paths = {
        one: f'"{one.value}"' for one in read.clauses if one.name == "file" and typed.read(f'"{one.value}"').wanted
    }
    words = " ".join([read.words, *(f"-{path}" if one.is_excluded else path for one, path in paths.items())]).strip()
    if len(words) > typed.LONGEST:
        return read
    return replace(read, words=words, clauses=tuple(one for one in read.clauses if one not in paths))


def can_walk(workspace_id: UUID, words: str) -> bool:
    """Whether pages of what somebody typed are found by a walk: not of alternatives, nor with older rows."""
    query = typed.read(words)
    return len(query.alternatives) == 1 and bool(query.wanted) and said.is_placed() and not _has_old_rows(workspace_id)


def _has_old_rows(workspace_id: UUID) -> bool:
    return SearchBacklog.objects.filter(workspace_id=workspace_id).exists() and EventText.objects.exists()


def stretches(
    workspace_id: UUID, words: str, until: datetime | None, most: int, passed: Callable[[], int]
) -> Iterator[Stretch]:
    """Sessions that say what somebody typed, by stretches of the time when they began, the latest first, up to
    ``until``. No stretch is left out, and the last one ends with the first session. The first one has ``most`` of them,
    and each further one as many as the rest should need, after how many of those before ``passed``.
    """
    (terms,) = typed.read(words).alternatives
    leader = _rarest(workspace_id, [term for term in terms if not term.is_excluded])
    others = [term for term in terms if term is not leader]
    read = [Q(said.says(workspace_id, leader))] if _is_read(workspace_id, leader) else []
    before = until and until + min(timedelta(microseconds=1), LAST - until)
    size, looked_at = most, 0
    for place in range(ROUNDS):
        found, since, _ = said.walk(workspace_id, leader, before, most=size)
        sessions, asked = _said_by(workspace_id, found, others)
        within = _all([Q(pk__in=sessions), *_between(since, before)])
        yield Stretch(within, _all([*asked, *read]) if asked or read else None)
        if since is None:
            return
        before, looked_at = since, looked_at + len(found)
        size = most * 2 ** (place + 1)
        if place < ROUNDS - 2 and (found_so_far := passed()):
            size = min(size, ceil(MARGIN * (most - found_so_far) * looked_at / found_so_far))
    yield Stretch(_all([said.say(workspace_id, words), *_between(None, before)]))


def are_few(workspace_id: UUID, words: str) -> bool:
    """Whether all sessions that say what somebody typed can be found at once: they are few, and no events are read for
    words side by side, which are up to 64 of each of 200 rows.
    """
    leader = _rarest(workspace_id, typed.read(words).wanted)
    return not said.pattern(leader) and said.sessions_of_rare(workspace_id, leader) is not None


def _rarest(workspace_id: UUID, terms: list[Term]) -> Term:
    """The word of which the fewest sessions are met on the way back."""
    if len(terms) == 1:
        return terms[0]
    met = []
    for term in terms:
        found, since, rows = said.walk(workspace_id, term, None, most=ENOUGH)
        met.append((since is not None, since.timestamp() if since else rows, term))
    return min(met, key=lambda one: one[:2])[2]


def _is_read(workspace_id: UUID, term: Term) -> bool:
    """Whether the events of all rows that have words side by side are read: see ``said.FEW_TO_READ``."""
    return bool(said.pattern(term)) and said.sessions_of_rare(workspace_id, term) is not None


def _said_by(workspace_id: UUID, sessions: set[UUID], terms: Iterable[Term]) -> tuple[set[UUID], list[Q]]:
    """Those of some sessions that have the words of all terms, and not those that are excluded, and what each is to be
    asked of words side by side."""
    asked: list[Q] = []
    for term in terms:
        if said.pattern(term):
            says = Q(said.says(workspace_id, term))
            asked.append(~says if term.is_excluded else says)
        else:
            saying = said.having(sessions, term)
            sessions = sessions - saying if term.is_excluded else sessions & saying
    return sessions, asked


def _between(since: datetime | None, before: datetime | None) -> Iterator[Q]:
    if since:
        yield Q(GreaterThanOrEqual(STARTED, Value(since)))
    if before:
        yield Q(LessThan(STARTED, Value(before)))


def _all(conditions: Iterable[Q]) -> Q:
    found = Q()
    for condition in conditions:
        found &= condition
    return found
