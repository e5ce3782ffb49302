"""Run summaries, a row for each rule that found something, and how the file of a session ends: kept by each append
from the events that it writes, and read from the log for older sessions.

An append carries on what the one before has stored. Of a session whose row is not at the end of the log (from before
there were run summaries; written by an older desk during an upgrade) little is caught up with at once, and much is left
to ``fill_in``, which goes through all sessions once, the newest first.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from uuid import UUID

import orjson
from django.db import connection, transaction

from sessions_app.drafts import EventDraft
from sessions_app.models import RunSummaryFillIn, Session
from sessions_app.prepared import Statement, fetch, run
from sessions_app.queries.log import summary_events
from sessions_app.summary.card import Ending, how_ended
from sessions_app.summary.state import VERSION, Summary

from . import sums
from .heads import CWD, Head

FILL_IN_SECONDS = 3.0
"""Of one call."""
AT_ONCE = 4_000
"""Events of a session that one transaction of the fill-in reads: 0.3 s, for which an append to it waits."""
ENDINGS = ("broke_off", "ended_in_error", "no_reply")
"""Of a file that nobody would call completed."""
CAUGHT_UP = 500
"""So many events are read from the log by the append that finds them missing."""
STORED = Statement("SELECT seq, told::text FROM sessions_app_runsummary WHERE session_id = %s")
WRITE = Statement("""
INSERT INTO sessions_app_runsummary (session_id, seq, told) VALUES (%s, %s, %s::jsonb)
ON CONFLICT (session_id) DO UPDATE SET seq = excluded.seq, told = excluded.told
""")
REWRITE = Statement("UPDATE sessions_app_runsummary SET seq = %s, told = %s::jsonb WHERE session_id = %s")


# What a rule no longer finds goes, what it finds now comes: no row is written where nothing changes.
MARK = Statement("""
WITH gone AS (
    DELETE FROM sessions_app_runfinding WHERE session_id = %(session)s AND rule <> ALL(%(rules)s::text[])
)
INSERT INTO sessions_app_runfinding (session_id, rule, workspace_id, agent_id)
SELECT id, rule, workspace_id, agent_id FROM sessions_app_session CROSS JOIN unnest(%(rules)s::text[]) AS rule
WHERE id = %(session)s ON CONFLICT DO NOTHING
""")
WHERE_IT_RAN = Statement(f"SELECT {CWD} FROM sessions_app_session WHERE id = %s")
END = Statement("SELECT last_seq FROM sessions_app_session WHERE id = %s")
ENDS = Statement("""
UPDATE sessions_app_session SET ending = %(ending)s
WHERE id = %(session)s AND origin = 'import' AND ending <> %(ending)s
""")
FORGET = Statement("DELETE FROM sessions_app_runsummary WHERE session_id = %s")


class Kept:
    """The run summary of a session while an append holds its log. None is kept where much of the log is missing."""

    def __init__(self, head: Head) -> None:
        self._session_id = head.session_id
        self._last_seq = head.last_seq
        self._cwd = head.cwd
        self._ending = head.ending if head.origin == Session.Origin.IMPORT else None
        self._stored: tuple[int, bytes] | None = None
        self._summary: Summary | None = Summary(cwd=head.cwd) if head.last_seq == 0 else None
        self._marked: frozenset[str] | None = frozenset() if head.last_seq == 0 else None
        self._is_begun = head.last_seq == 0

    def found(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """The row that the append before has stored, if any."""
        self._stored = rows[0] if rows else None

    def take(self, seq: int, parent_seq: int | None, event: EventDraft) -> None:
        """The next event of the append."""
        if event.kind not in summary_events.KINDS:
            return
        if not self._is_begun:
            self._is_begun = True
            self._summary = self._carried_on()
        if self._summary is not None:
            self._summary.take(seq, parent_seq, event)

    def write(self, last_seq: int) -> None:
        """Store it, up to the end of the log."""
        if self._summary is not None:
            write(self._session_id, last_seq, self._summary, self._marked, is_there=self._stored is not None)
            if self._ending is not None and self._ending != ending_of(self._summary):
                note_ending(self._session_id, self._summary)
        elif not self._is_begun:  # nothing came that it would tell of
            run(MOVE_ON, [last_seq, self._session_id, self._last_seq])

    def _carried_on(self) -> Summary | None:
        seq, summary = (
            _read(self._stored[0], self._stored[1], self._cwd) if self._stored else (0, Summary(cwd=self._cwd))
        )
        self._marked = rules_of(summary) if seq else None
        if self._last_seq - seq > CAUGHT_UP:
            return None
        for number, parent_seq, event in summary_events.read(self._session_id, seq, self._last_seq):
            summary.take(number, parent_seq, event)
        return summary


MOVE_ON = Statement("UPDATE sessions_app_runsummary SET seq = %s WHERE session_id = %s AND seq = %s")


def read(session_id: UUID, cwd: str) -> tuple[int, Summary]:
    """How far a session was read, and what was kept; 0 and nothing where no row is there, or one of older rules."""
    found = fetch(STORED, [session_id])
    return _read(found[0][0], found[0][1], cwd) if found else (0, Summary(cwd=cwd))


def _read(seq: int, told: str | bytes, cwd: str) -> tuple[int, Summary]:
    stored = orjson.loads(told)
    return (seq, Summary(stored, cwd)) if stored["version"] == VERSION else (0, Summary(cwd=cwd))


def rules_of(summary: Summary) -> frozenset[str]:
    """Names of the rules that found something."""
    return frozenset(finding.rule for finding in summary.findings)


def write(
    session_id: UUID, seq: int, summary: Summary, marked: frozenset[str] | None, *, is_there: bool = False
) -> None:
    """Store what is known after event ``seq``. The session is locked. ``marked``: the rules of which it has a row of
    findings; None: nobody knows. ``is_there``: it has a row already, which need not be locked before it is written."""
    told = orjson.dumps(summary.stored()).decode()
    run(*((REWRITE, [seq, told, session_id]) if is_there else (WRITE, [session_id, seq, told])))
    found = rules_of(summary)
    if found != marked:
        run(MARK, {"session": session_id, "rules": sorted(found)})


def ending_of(summary: Summary) -> str:
    """How a file ends that goes on no more, as ``Session.ending`` has it."""
    how = how_ended(summary, Ending())
    return how if how in ENDINGS else ""


def note_ending(session_id: UUID, summary: Summary) -> None:
    """Keep with a session, which is locked, how its file ends; one that was not read from a file has none."""
    run(ENDS, {"session": session_id, "ending": ending_of(summary)})


def read_on(session_id: UUID, last_seq: int, most: int = AT_ONCE) -> bool:
    """Read the next piece of a session, which is locked. Returns whether all of it is read now."""
    ((cwd,),) = fetch(WHERE_IT_RAN, [session_id])
    seq, summary = read(session_id, cwd)
    marked = rules_of(summary) if seq else None
    until = min(last_seq, seq + most)
    for number, parent_seq, event in summary_events.read(session_id, seq, until):
        summary.take(number, parent_seq, event)
    if until > seq or last_seq == 0:
        write(session_id, until, summary, marked)
    if until >= last_seq:
        note_ending(session_id, summary)
    return until >= last_seq


def rebuild(session_id: UUID, last_seq: int) -> None:
    """Read a whole log. The session is locked, and what was kept of it is deleted."""
    while not read_on(session_id, last_seq):
        pass


def read_anew(session_id: UUID) -> None:
    """Read a whole log once more: what the rules go by beside events has changed. The session is locked."""
    run(FORGET, [session_id])
    ((last_seq,),) = fetch(END, [session_id])
    rebuild(session_id, last_seq)


def fill_in() -> int:
    """Read some of the sessions of which it is not known what happened or how they ended; how many pieces. The next
    call goes on behind them."""
    until, done = time.monotonic() + FILL_IN_SECONDS, 0
    while time.monotonic() < until and _fill_in_one():
        done += 1
    return done


@transaction.atomic
def _fill_in_one() -> bool:
    """Read a piece of the next session, or finish; False when there is nothing to do."""
    row = RunSummaryFillIn.objects.select_for_update(skip_locked=True).first()
    if row is None:
        return False
    left = Session.objects.all() if row.before is None else Session.objects.filter(pk__lt=row.before)
    following = left.order_by("-pk").values_list("pk", flat=True).first()
    if following is None:
        row.delete()
        return False
    last_seq = _lock(following)
    if last_seq is None or read_on(following, last_seq):
        if last_seq and sums.unwrap_prompts(following, 0):  # of before: it is named anew, and read once more
            sums.name_anew(following)
            run(FORGET, [following])
            return True
        RunSummaryFillIn.objects.filter(pk=row.pk).update(before=following)
    return True


def _lock(session_id: UUID) -> int | None:
    """The end of the log, to which nothing is added until the transaction ends; None for a session that is gone."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT last_seq FROM sessions_app_session WHERE id = %s FOR NO KEY UPDATE", [session_id])
        found = cursor.fetchone()
    return found[0] if found else None


def notice() -> str | None:
    """What a person who looks after the desk should know of run summaries."""
    if RunSummaryFillIn.objects.exists():
        return "older sessions are being read for what happened in them: until then their pages and lists do not say it"
    return None
