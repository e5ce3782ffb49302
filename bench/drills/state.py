"""Whether a desk is whole after a drill: nothing that it accepted is lost, nothing is there twice, nothing waits."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field

from config.broker import QUEUES

from .desk import Desk
from .load import LINES, Load


@dataclass
class State:
    """Findings of one look, each a sentence."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)


def check(desk: Desk, load: Load, patience: float) -> State:
    """Wait until nothing is under way, for ``patience`` seconds at most, and compare. The load must have stopped."""
    deadline = time.monotonic() + patience
    while (stuck := waiting(desk, load)) and time.monotonic() < deadline:
        if all(what.partition(" ")[2].startswith("messages in") for what in stuck):
            _pass_a_minute(desk)
        time.sleep(0.5)
    state = State(stuck=stuck)
    _check_logs(desk, state)
    _check_accepted(desk, load, state)
    _check_schedule(desk, load, state)
    try:
        desk.manage("audit", "verify")
    except subprocess.CalledProcessError as fault:
        state.lost.append(f"audit verify: {fault.stdout.strip()}")
    return state


def waiting(desk: Desk, load: Load) -> list[str]:
    """What is still to be done."""
    found = []
    for what, query in {
        "turns in flight": "SELECT count(*) FROM sessions_app_turninflight",
        "imports": "SELECT count(*) FROM vcon_app_import WHERE status IN ('queued', 'running')",
        "approvals that are to expire": "SELECT count(*) FROM sessions_app_approval"
        " WHERE status = 'pending' AND expires_at IS NOT NULL",
        "overdue schedules": "SELECT count(*) FROM sessions_app_schedule"
        " WHERE enabled AND next_run_at < now() - interval '5 s'",
        "sessions that cannot be searched": "SELECT count(*) FROM sessions_app_searchbacklog",
        **{f"messages in {queue}": f"SELECT count(*) FROM pgmq.q_{queue}" for queue in QUEUES},
    }.items():
        [(number,)] = desk.ask(query)
        if number:
            found.append(f"{number} {what}")
    return found


def _pass_a_minute(desk: Desk) -> None:
    """What is left are messages whose worker was killed: each comes again after a minute, when its row is long done."""
    for queue in QUEUES:
        desk.ask(f"UPDATE pgmq.q_{queue} SET vt = now() WHERE vt > now()")


def _check_logs(desk: Desk, state: State) -> None:
    """Events of each session are 1 to n, as its counters say; keys, results and turns are there once."""
    torn = desk.ask(
        "SELECT s.id, s.last_seq, s.event_count, count(e.seq), min(e.seq), max(e.seq) FROM sessions_app_session s"
        " LEFT JOIN sessions_app_event e ON e.session_id = s.id GROUP BY s.id"
        " HAVING count(e.seq) <> s.last_seq OR s.event_count <> s.last_seq OR coalesce(max(e.seq), 0) <> s.last_seq"
    )
    state.lost += [f"session {row[0]}: last_seq, event_count, rows, first, last: {row[1:]}" for row in torn]
    for what, query in {
        "event keys": "SELECT count(*) FROM (SELECT 1 FROM sessions_app_event GROUP BY session_id, key"
        " HAVING count(*) > 1) twice",
        "runs of a delivery": "SELECT count(*) FROM (SELECT 1 FROM sessions_app_triggerrun"
        " WHERE delivery_id IS NOT NULL GROUP BY delivery_id HAVING count(*) > 1) twice",
        "usages of a turn": "SELECT count(*) FROM (SELECT 1 FROM sessions_app_turnusage GROUP BY session_id, turn"
        " HAVING count(*) > 1) twice",
    }.items():
        [(number,)] = desk.ask(query)
        if number:
            state.doubled.append(f"{number} {what}")


def _check_accepted(desk: Desk, load: Load, state: State) -> None:
    accepted = load.accepted
    runs = desk.ask(
        "SELECT input_text FROM sessions_app_triggerrun WHERE kind = 'webhook' AND session_id IS NOT NULL"
    )  # fmt: skip
    texts = "\n".join(text for (text,) in runs)
    for name in accepted.hooks:
        _count(texts.count(name), f"webhook {name}", state)
    said = Counter(text for (text,) in desk.ask("SELECT text FROM sessions_app_event WHERE kind = 'user_message'"))
    for text in accepted.messages:
        _count(said[text], f"message {text!r}", state)
    events = [
        text for (text,) in desk.ask("SELECT text FROM sessions_app_event WHERE session_id = %s", load.log)
    ]  # fmt: skip
    for one in accepted.events - {text.removeprefix("said ") for text in events}:
        state.lost.append(f"event {one}")
    # An upload whose answer was lost is sent again, and then is a duplicate of itself.
    imports = dict(
        desk.ask(
            "SELECT i.id::text, i.status || ' ' || coalesce(first.events, i.events) FROM vcon_app_import i"
            " LEFT JOIN vcon_app_import first ON first.id = i.duplicate_of_id"
        )
    )
    for one in accepted.imports:
        if imports.get(one) != f"done {LINES}":
            state.lost.append(f"import {one}: {imports.get(one)}")
    approvals = dict(desk.ask("SELECT id::text, status FROM sessions_app_approval"))
    for one in accepted.approvals:
        if approvals.get(one) != "expired":
            state.lost.append(f"approval {one}: {approvals.get(one)}")


def _count(times: int, what: str, state: State) -> None:
    if times == 0:
        state.lost.append(what)
    elif times > 1:
        state.doubled.append(f"{what}: {times} times")


def _check_schedule(desk: Desk, load: Load, state: State) -> None:
    """Each minute from the first to the last has one run, or stands in one that says which were missed."""
    rows = desk.ask(
        "SELECT extract(epoch FROM due_at)::bigint / 60, status FROM sessions_app_triggerrun"
        " WHERE schedule_id = %s AND due_at IS NOT NULL ORDER BY 1",
        load.schedule,
    )
    minutes = [minute for minute, status in rows if status == "started"]
    if len(minutes) != len(set(minutes)):
        state.doubled.append(f"schedule: {len(minutes) - len(set(minutes))} minutes")
    missed = [minute for minute, status in rows if status != "started"]
    gaps = len(range(minutes[0], minutes[-1] + 1)) - len(set(minutes)) if minutes else 0
    if gaps > 0 and not missed:  # one run makes up for what passed while nothing ran, and another says so
        state.lost.append(f"schedule: {gaps} minutes without a run")
