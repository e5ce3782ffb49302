"""One outcome for each approval, however many decide it at once? ``python -m bench.decisions [--approvals 100] ...``

Two hosts of one installation, each with its own web server, share a database. For each approval so many decisions come
at the same moment, half of them to each host: from API keys, from members in their browsers' sessions (as JSON), and
from the form of the card. Answers are counted; at the end each approval has one outcome, every 409 of the API names who
decided, and the chains are whole.

Then so many agents wait for an approval each, in long polls at both hosts, and the approvals are decided one after the
other: seconds from the moment that the decision was sent to the answer that each agent has. The last figures are those
of decisions that members make, from the moment that they take effect.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from statistics import median, quantiles
from typing import Any
from urllib.parse import urlencode

from .drills.desk import Desk, folder, own_database

PEOPLE = """
from django.conf import settings
from django.contrib.auth import get_user_model, BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from importlib import import_module
from sessions_app.models import Member, Role, Workspace
from sessions_app.services import audit
from sessions_app.services.people import api_keys
for number in range({keys}):
    workspace, name = Workspace.objects.get(), f"key {{number}}"
    print("key", api_keys.create_api_key(workspace, name, Role.REVIEWER, by=audit.COMMAND)[1])
for number in range({members}):
    user = get_user_model().objects.create_user(f"p{{number}}@example.org", first_name=f"Person {{number}}")
    Member.objects.create(workspace=Workspace.objects.get(), user=user, role="reviewer")
    session = import_module(settings.SESSION_ENGINE).SessionStore()
    session[SESSION_KEY], session[HASH_SESSION_KEY] = str(user.pk), user.get_session_auth_hash()
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session.create()
    print("cookie", session.session_key)
"""
TOKEN = "t" * 32


@dataclass(frozen=True)
class Person:
    """Somebody who decides: by a key, or in a browser's session."""

    way: str
    headers: dict[str, str]


async def post(port: int, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
    """Status and body; (0, what failed) for a connection that brought no answer."""
    given = {"Host": f"127.0.0.1:{port}", "Connection": "close", "Content-Length": str(len(body))} | headers
    head = f"{'POST' if body else 'GET'} {path} HTTP/1.1\r\n" + "".join(f"{n}: {v}\r\n" for n, v in given.items())
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head.encode() + b"\r\n" + body)
        answer = await reader.read()
        writer.close()
    except OSError as fault:
        return 0, str(fault).encode()
    first, _, said = answer.partition(b"\r\n\r\n")
    return int(first.split()[1]) if first else 0, said


def people(desk: Desk, keys: int, members: int) -> list[Person]:
    """Those who decide: by three ways."""
    said = [line.split() for line in desk.manage("shell", "-c", PEOPLE.format(keys=keys, members=members)).splitlines()]
    made, cookies = ([line[1] for line in said if line[:1] == [kind]] for kind in ("key", "cookie"))
    signed_in = [
        {"Cookie": f"sessionid={cookie}; csrftoken={TOKEN}", "X-CSRFToken": TOKEN} for cookie in cookies
    ]  # fmt: skip
    return [
        *(Person("api", {"Authorization": f"Bearer {key}"}) for key in made),
        *(Person("json", headers) for headers in signed_in),
        *(Person("form", headers) for headers in signed_in),
    ]


def ask(desk: Desk, count: int) -> list[dict[str, Any]]:
    """So many questions in ten sessions."""
    agent = desk.call("/api/v1/agents", {"name": f"asker {time.monotonic_ns()}"})["id"]
    sessions = [desk.call(f"/dashboard/agents/{agent}/sessions", {"title": str(n)})["id"] for n in range(10)]
    return [
        desk.call(
            "/api/v1/approvals",
            {"session_id": sessions[n % 10], "tool": {"name": "refund", "arguments": {"n": n}}},
        )
        for n in range(count)
    ]


async def decide(port: int, approval: dict[str, Any], person: Person, number: int) -> tuple[str, int, bytes]:
    """The way, the status and the body of one decision."""
    verdict = "approve" if number % 2 else "deny"
    shown = {"version": approval["version"], "digest": approval["digest"], "reason": f"reason {number}"}
    if person.way == "form":
        body, kind = urlencode({"verdict": verdict, **shown}).encode(), "application/x-www-form-urlencoded"
        path = f"/approvals/{approval['id']}/decision"
    else:
        body, kind = json.dumps({"verdict": verdict, **shown}).encode(), "application/json"
        path = f"/api/v1/approvals/{approval['id']}/decision"
    headers = {"Content-Type": kind, **({"HX-Request": "true"} if person.way == "form" else {})}
    status, said = await post(port, path, body, headers | person.headers)
    return person.way, status, said


async def race(hosts: list[Desk], everybody: list[Person], approvals: list[dict[str, Any]], each: int) -> list[str]:
    """Faults of the race: what was neither the one decision nor a 409 that names it."""
    counted: Counter[tuple[str, int]] = Counter()
    unnamed, faults = 0, []
    began = time.monotonic()
    for turn, approval in enumerate(approvals):
        answers = await asyncio.gather(*(
            decide(hosts[n % 2].port, approval, everybody[(n // 2 + turn) % len(everybody)], n) for n in range(each)
        ))  # fmt: skip
        winners = {who for way, status, said in answers if status == 200 and (who := winner(way, said))}
        if len(winners) > 1 or not any(status == 200 for _, status, _ in answers):
            faults.append(f"{approval['id']} was decided by {winners or 'nobody'}")
        for way, status, said in answers:
            counted[way, status] += 1
            if status == 409 and way != "form" and not (json.loads(said).get("winner") or {}).get("by"):
                unnamed += 1
    seconds = time.monotonic() - began
    print(f"{len(approvals)} approvals, {each} decisions of each at once: {seconds:.0f} s")
    for (way, status), number in sorted(counted.items()):
        print(f"  {way:5} {status}: {number:,}")
    odd = [(way, status, number) for (way, status), number in counted.items() if status not in (200, 409)]
    faults += [f"{number} answers to {way} were {status}" for way, status, number in odd]
    return faults + ([f"{unnamed} conflicts do not name the winner"] if unnamed else [])


def winner(way: str, said: bytes) -> tuple[str, str] | None:
    """Who decided what, in an answer to a program: the same decision sent again is answered like the first."""
    votes = [vote for vote in json.loads(said)["votes"] if vote["counts"]] if way != "form" else []
    return (votes[-1]["by"], votes[-1]["verdict"]) if votes else None


def outcomes(desk: Desk) -> list[str]:
    """Faults of the rows: approvals without one outcome, chains that are broken."""
    time.sleep(8)  # what members decided takes effect five seconds later
    faults = []
    for status, number in desk.ask("SELECT status, count(*) FROM sessions_app_approval GROUP BY 1 ORDER BY 1"):
        print(f"  {status}: {number}")
        if status not in ("approved", "denied"):
            faults.append(f"{number} approvals are {status}")
    twice = "SELECT count(*) FROM (SELECT approval_id FROM sessions_app_vote GROUP BY 1 HAVING count(*) > 1) t"
    faults += [f"{number} approvals have several votes" for (number,) in desk.ask(twice) if number]
    said = desk.manage("audit", "verify", "--all")
    print(f"  {said.splitlines()[-1]}")
    return faults


async def waiting(hosts: list[Desk], approvals: list[dict[str, Any]], person: Person) -> list[float]:
    """Seconds from a decision to the answer that its agent has, each waiting in a long poll."""
    answered: dict[str, float] = {}
    told: dict[str, Any] = {}

    async def wait(number: int, approval: dict[str, Any]) -> None:
        path = f"/api/v1/approvals/{approval['id']}?wait=60"
        status = "pending"
        while status == "pending":
            code, said = await post(hosts[number % 2].port, path, b"", {"Authorization": f"Bearer {hosts[0].key}"})
            assert code == 200, (code, said[:200])
            told[approval["id"]] = json.loads(said)
            status = told[approval["id"]]["status"]
        answered[approval["id"]] = time.time()

    agents = [asyncio.create_task(wait(number, approval)) for number, approval in enumerate(approvals)]
    await asyncio.sleep(5)
    moments: dict[str, float] = {}
    for number, approval in enumerate(approvals):
        sent = time.time()
        _, status, said = await decide(hosts[number % 2].port, approval, person, 1)
        assert status == 200, (status, said[:200])
        effect = json.loads(said)["takes_effect_at"]
        moments[approval["id"]] = datetime.fromisoformat(effect).timestamp() if effect else sent
        await asyncio.sleep(0.05)
    await asyncio.gather(*agents)
    return [answered[id_] - moment for id_, moment in moments.items()]


def show(name: str, seconds: list[float]) -> None:
    p95 = quantiles(seconds, n=20)[-1]
    print(f"{name}: median {median(seconds) * 1000:.0f} ms, p95 {p95 * 1000:.0f} ms, most {max(seconds) * 1000:.0f} ms")


def main() -> int:
    """Run everything; the exit status."""
    parser = argparse.ArgumentParser(prog="bench.decisions", description=__doc__)
    parser.add_argument("--approvals", type=int, default=100, help="that are raced for (default 100)")
    parser.add_argument("--each", type=int, default=200, help="decisions on each, at once (default 200)")
    parser.add_argument("--agents", type=int, default=200, help="that wait in long polls (default 200)")
    options = parser.parse_args()
    with folder() as place, own_database(place / "database") as start_database:
        database, _ = start_database()
        hosts: list[Desk] = []
        try:
            for name in ("one", "two"):
                (place / name).mkdir()
                hosts.append(Desk(place / name, database, {"STORAGE_URL": f"file://{place}/shared"}))
            everybody = people(hosts[0], keys=8, members=8)
            faults = asyncio.run(race(hosts, everybody, ask(hosts[0], options.approvals), options.each))
            faults += outcomes(hosts[0])
            for name, person in (("decision of a key", everybody[0]), ("decision of a member", everybody[8])):
                if options.agents:
                    show(f"{name}, {options.agents} agents wait",
                         asyncio.run(waiting(hosts, ask(hosts[0], options.agents), person)))  # fmt: skip
        finally:
            for host in hosts:
                host.stop()
    for fault in faults:
        print("fault ", fault)
    print(f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
