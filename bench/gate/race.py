"""One outcome for each approval, however many decide it at once? ``python -m bench.gate.race [--approvals 100] ...``

Two hosts of one installation, each with its own web server and workers, share a database. For each approval so many
decisions come at the same moment, half of them to each host: from API keys, from members in their browsers' sessions
(as JSON, and from the form of the card), and of the same members as clicks in Slack, one in twenty. Every answer is
counted: one outcome, a 409 that names who decided for everybody who came too late (in Slack a message to who clicked),
nothing else; at the end the chains are whole. Exit status 1 where any of it is not so.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import Counter
from typing import Any

from tests.fakes.slack import FakeSlack

from ..drills.desk import Desk, folder, own_database
from .people import Person, ask, decide, in_slack, people

PEOPLE = 8
CLICKS = 20
"""Every so many-th decision is a click in Slack."""
SECONDS_IN_SLACK = 300
UNDO = 8
"""Seconds after which what members decided has taken effect: five, and some for the machine."""
Clicks = list[tuple[str, Person]]
OF_CLICKS = "SELECT count(*) FROM sessions_app_slackevent WHERE done_at IS NULL"
WINNERS = "SELECT approval_id::text, by, verdict FROM sessions_app_vote"


def main() -> int:
    """Run everything; the exit status."""
    parser = argparse.ArgumentParser(prog="bench.gate.race", description=__doc__)
    parser.add_argument("--approvals", type=int, default=100, help="that are raced for (default 100)")
    parser.add_argument("--each", type=int, default=200, help="decisions on each, at once (default 200)")
    options = parser.parse_args()
    with folder() as place, FakeSlack().serving() as slack, own_database(place / "database") as start_database:
        database, _ = start_database()
        more = {"STORAGE_URL": f"file://{place}/shared", "SLACK_API_URL": slack.api_url}
        hosts: list[Desk] = []
        try:
            for name in ("one", "two"):
                (place / name).mkdir()
                hosts.append(Desk(place / name, database, more))
            at_desk = people(hosts[0], keys=PEOPLE, members=PEOPLE)
            clickers = in_slack(hosts[0], slack, PEOPLE)
            approvals = ask(hosts[0], options.approvals, sessions=10)
            faults, clicks = asyncio.run(race(hosts, at_desk, clickers, approvals, options.each))
            faults += told_in_slack(hosts[0], slack, clicks) + outcomes(hosts[0])
        finally:
            for host in hosts:
                host.stop()
    for fault in faults:
        print("fault ", fault)
    print(f"{len(faults)} faults")
    return 1 if faults else 0


async def race(
    hosts: list[Desk], at_desk: list[Person], clickers: list[Person], approvals: list[dict[str, Any]], each: int
) -> tuple[list[str], Clicks]:
    """Faults of the answers, and what was clicked in Slack."""
    counted: Counter[tuple[str, int]] = Counter()
    faults: list[str] = []
    clicks: Clicks = []
    began = time.monotonic()
    for turn, approval in enumerate(approvals):
        those = [_who(at_desk, clickers, number, turn) for number in range(each)]
        answers = await asyncio.gather(*(
            decide(hosts[number % 2].port, approval, person, number) for number, person in enumerate(those)
        ))  # fmt: skip
        clicks += [(approval["id"], person) for person in those if person.way == "slack"]
        told = [(person.way, *answer) for person, answer in zip(those, answers, strict=True)]
        winners = {who for way, status, said in told if status == 200 and (who := _winner(way, said))}
        if len(winners) > 1:
            faults.append(f"{approval['id']} was decided by {winners}")
        for way, status, said in told:
            counted[way, status] += 1
            if status == 409 and not _names_winner(way, said):
                faults.append(f"a conflict names nobody: {way} {said[:200]!r}")
    seconds = time.monotonic() - began
    print(f"{len(approvals)} approvals, {each} decisions of each at once: {seconds:.0f} s")
    for (way, status), number in sorted(counted.items()):
        print(f"  {way:5} {status}: {number:,}")
        if status not in (200, 409):
            faults.append(f"{number} answers to {way} were {status}")
    return faults, clicks


def _who(at_desk: list[Person], clickers: list[Person], number: int, turn: int) -> Person:
    if number % CLICKS == CLICKS - 1:
        return clickers[(number // CLICKS + turn) % len(clickers)]
    return at_desk[(number // 2 + turn) % len(at_desk)]


def _winner(way: str, said: bytes) -> tuple[str, str] | None:
    """Who decided what, in an answer to a program: the same decision sent again is answered like the first."""
    votes = [vote for vote in json.loads(said)["votes"] if vote["counts"]] if way in ("api", "json") else []
    return (votes[-1]["by"], votes[-1]["verdict"]) if votes else None


def _names_winner(way: str, said: bytes) -> bool:
    if way == "form":
        return b"decided this already" in said
    return bool((json.loads(said).get("winner") or {}).get("by"))


def told_in_slack(desk: Desk, slack: FakeSlack, clicks: Clicks) -> list[str]:
    """Faults of the clicks: not read, or lost without a word about who was faster."""
    until = time.monotonic() + SECONDS_IN_SLACK
    while (left := desk.ask(OF_CLICKS)[0][0]) and time.monotonic() < until:
        time.sleep(0.5)
    faults = [f"{left} clicks were not read in {SECONDS_IN_SLACK} s"] if left else []
    winners = {approval: (by, verdict) for approval, by, verdict in desk.ask(WINNERS)}
    silent = 0
    for approval, person in clicks:
        name, (by, verdict) = f"Person {person.name.removeprefix('U0PERSON')}", winners[approval]
        if (by, verdict) == (name, "approve"):
            silent += 1  # their own decision, the first one or sent again
            continue
        mine = [one["text"] for one in slack.ephemeral if one["user"] == person.name and approval in one["text"]]
        if not any(text.startswith(f"{by[:1].upper()}{by[1:]} decided this already") for text in mine):
            faults.append(f"{name} was not told who decided {approval}: {mine}")
    print(f"  {len(clicks):,} clicks in Slack, {silent} of them by who decided; the others were told who did")
    return faults


def outcomes(desk: Desk) -> list[str]:
    """Faults of the rows: approvals without one outcome, chains that are broken."""
    time.sleep(UNDO)
    faults = []
    for status, number in desk.ask("SELECT status, count(*) FROM sessions_app_approval GROUP BY 1 ORDER BY 1"):
        print(f"  {status}: {number}")
        if status not in ("approved", "denied"):
            faults.append(f"{number} approvals are {status}")
    for channel, number in desk.ask("SELECT channel, count(*) FROM sessions_app_vote GROUP BY 1 ORDER BY 1"):
        print(f"  decided by {channel}: {number}")
    twice = "SELECT count(*) FROM (SELECT approval_id FROM sessions_app_vote GROUP BY 1 HAVING count(*) > 1) t"
    faults += [f"{number} approvals have several votes" for (number,) in desk.ask(twice) if number]
    print(f"  {desk.manage('audit', 'verify', '--all').splitlines()[-1]}")
    return faults


if __name__ == "__main__":
    raise SystemExit(main())
