"""``kill -9`` at every step from asked to executed: ``python -m bench.gate.killed [--stories 4] [--only WORDS]``

On a real `up` with the database that ships. Programs ask, wait in long polls, and report the call that they make; turns
ask and are executed by workers. At each of their steps the web server, all workers or the whole database is killed,
while the step is under way in several stories at once; who is not answered sends the same again, as clients do. Then
every story has to have one end: asked once, decided once, delivered and made once if it was allowed, never before and
not at all if it was denied. Exit status 1 when one has not, or the chains are broken.
"""

from __future__ import annotations

import argparse
import json
import random
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from signal import SIGKILL
from typing import Any

from sessions_app import canonical

from ..drills.desk import Desk, Refused, folder
from ..measure import table
from .people import people

PARTS = {"web": ("web",), "workers": ("people", "turns", "worker-1", "worker-2"), "database": ("postgres",)}
PATIENCE = 90.0
"""Seconds in which a step has to be done, whatever was killed."""
STAGGER = 0.012
"""Seconds between the beginnings of a step in the stories of one cell, so that the kill meets each somewhere else."""
UNDO = 1
"""Seconds in which members can take a decision back."""
PASSING = (0, 429, 500, 502, 503, 504)
REQUESTED = {"amount": 40}
EDITED = {"amount": 20}


@dataclass
class Cast:
    """The desk and the keys and cookies of who takes part."""

    desk: Desk
    asker: dict[str, str]
    key: dict[str, str]
    member: dict[str, str]
    parrot: str
    refusals: Counter[int] = field(default_factory=Counter)

    def call(self, path: str, body: Any = None, *, who: dict[str, str] | None = None) -> Any:
        """Send until it is answered, as clients do. Raises ``Refused`` for an answer that says no."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                return self.desk.call(path, body, headers=who, seconds=20)
            except Refused as refused:
                if refused.status not in PASSING or time.monotonic() > until:
                    raise
                self.refusals[refused.status] += 1
            time.sleep(random.uniform(0.05, 0.3))


class Story:
    """One approval. ``how``: who decides it, and what."""

    HOW = ("key approves", "member approves", "key denies", "member changes it")
    steps: Sequence[str] = ()

    def __init__(self, cast: Cast, number: int) -> None:
        self.cast, self.how = cast, self.HOW[number % len(self.HOW)]
        self.name = uuid.uuid4().hex
        self.asked: dict[str, Any] = {}
        self.made = 0
        """Calls that the executor made."""
        self.faults: list[str] = []

    @property
    def is_allowed(self) -> bool:
        return "denies" not in self.how

    @property
    def arguments(self) -> dict[str, int]:
        return EDITED if "changes" in self.how else REQUESTED

    def decide(self) -> None:
        """The same decision again is the same answer, so that it may be sent again."""
        body = {"verdict": "approve" if self.is_allowed else "deny", "version": self.asked["version"]}
        body |= {"digest": self.asked["digest"], "reason": self.name}
        body |= {"arguments": EDITED} if "changes" in self.how else {}
        who = self.cast.member if "member" in self.how else self.cast.key
        self.cast.call(f"/api/v1/approvals/{self.asked['id']}/decision", body, who=who)

    def check(self) -> list[str]:
        """Faults of the rows that are left of it."""
        id_, ask = self.asked["id"], self.cast.desk.ask
        status = {"key approves": "approved", "member approves": "approved", "key denies": "denied"}
        [(found, delivery, execution)] = ask(
            "SELECT status, delivery, execution FROM sessions_app_approval WHERE id = %s", id_
        )
        wanted = (status.get(self.how, "approved_edited"), "delivered", "succeeded" if self.is_allowed else "none")
        faults = [] if (found, delivery, execution) == wanted else [f"{(found, delivery, execution)}, not {wanted}"]
        actions = Counter(
            action for (action,) in ask("SELECT action FROM sessions_app_auditentry WHERE subject_id = %s", id_)
        )
        faults += [f"{action} {actions[action]} times" for action in ("approval.requested", "approval.decided")
                   if actions[action] != 1]  # fmt: skip
        [(votes,)] = ask("SELECT count(*) FROM sessions_app_vote WHERE approval_id = %s", id_)
        events = ask(
            "SELECT data->>'status' FROM sessions_app_event WHERE kind = 'approval' AND data->>'approval' = %s", id_
        )
        if votes != 1 or len(events) != 2:
            faults.append(f"{votes} votes, events {events}")
        if self.made != self.is_allowed:
            faults.append(f"made {self.made} times")
        return [f"{type(self).__name__}, {self.how}: {fault}" for fault in (*self.faults, *faults)]


class Program(Story):
    """A program that asks, waits in a long poll, and makes the call itself."""

    steps = ("ask", "decide", "told", "begin", "end")

    def ask(self) -> None:
        question = {"agent": "Killed", "external_id": self.name, "client_id": self.name,
                    "tool": {"name": "refund", "arguments": REQUESTED}}  # fmt: skip
        self.asked = self.cast.call("/api/v1/approvals", question, who=self.cast.asker)
        self._too_early()

    def _too_early(self) -> None:
        """An executor that goes ahead is refused: it is not decided, denied, or another call was approved."""
        digest = canonical.digest({
            "session": self.asked["session_id"], "approval": self.asked["id"], "tool": "refund", "server": None,
            "input": REQUESTED,
        })  # fmt: skip
        try:
            self._report(digest, "running")
        except Refused as refused:
            if refused.status == 409:
                return
            raise
        self.faults.append("a call was let through that nobody decided")

    def told(self) -> None:
        """Wait in long polls until it is decided, and longer than a decision can be taken back."""
        until = time.monotonic() + PATIENCE
        while self.asked["status"] == "pending" and time.monotonic() < until:
            self.asked = self.cast.call(f"/api/v1/approvals/{self.asked['id']}?wait=5", who=self.cast.asker)

    def begin(self) -> None:
        """Report that the call begins, and make it when the desk has taken that."""
        if "changes" in self.how:
            self._too_early()
        if self._reports("running"):
            self.made += 1

    def end(self) -> None:
        self._reports("succeeded")

    def _reports(self, state: str) -> bool:
        if not self.is_allowed:
            self._too_early()
            return False
        self._report(self.asked["decision"]["digest"], state)
        return True

    def _report(self, digest: str, state: str) -> None:
        body = {"digest": digest, "status": state}
        self.cast.call(f"/api/v1/approvals/{self.asked['id']}/execution", body, who=self.cast.asker)


class Turn(Story):
    """A turn of an agent that runs here: workers ask, are told, and execute."""

    steps = ("ask", "decide", "told")

    def ask(self) -> None:
        said = {"message": f"/tool refund {json.dumps(REQUESTED)}"}
        path = f"/dashboard/agents/{self.cast.parrot}/sessions"
        session = self.cast.call(path, said, who={"Idempotency-Key": self.name})["id"]
        found = self._until(lambda: self.cast.call(f"/api/v1/approvals?session_id={session}")["items"])
        self.asked = found[0] if found else {}

    def told(self) -> None:
        session = self.asked["session_id"]
        self._until(lambda: self.cast.call(f"/api/v1/sessions/{session}")["status"] == "idle")
        results = self.cast.call(f"/api/v1/sessions/{session}/events?kind=tool_result")["items"]
        made = [one for one in results if one["tool"]["status"] == "ok"]
        self.made = len(made)
        if len(results) != 1 or any(one["tool"]["result"] is None for one in made):
            self.faults.append(f"results {[one['text'] for one in results]}")
        if made and json.dumps(self.arguments["amount"]) not in json.dumps(made[0]):
            self.faults.append(f"another call was made: {made[0]['tool']}")

    def _until(self, condition: Callable[[], Any]) -> Any:
        until = time.monotonic() + PATIENCE
        while not (found := condition()) and time.monotonic() < until:
            time.sleep(0.1)
        return found


@dataclass(frozen=True)
class Cell:
    """What is killed at which step."""

    kind: type[Story]
    step: str
    part: str

    @property
    def name(self) -> str:
        return f"{self.kind.__name__.lower()}, {self.step}: kill -9 {self.part}"

    def run(self, cast: Cast, count: int) -> tuple[float, list[str]]:
        """Seconds that the step took, and faults of its stories."""
        stories = [self.kind(cast, number) for number in range(count)]
        seconds = 0.0
        with ThreadPoolExecutor(count + 1) as pool:
            for step in self.kind.steps:
                began = time.monotonic()
                killed = pool.submit(self._kill, cast.desk, count) if step == self.step else None
                done = [pool.submit(self._step, story, step, place * STAGGER) for place, story in enumerate(stories)]
                for one in done:
                    one.result()
                if killed:
                    killed.result()
                    seconds = time.monotonic() - began
        until = time.monotonic() + PATIENCE
        while not cast.desk.ready() and time.monotonic() < until:
            time.sleep(0.1)
        return seconds, [fault for story in stories for fault in story.faults or story.check()]

    def _kill(self, desk: Desk, count: int) -> None:
        """In the middle of it: of a step that lasts as long as a decision can be taken back, in the middle of that."""
        time.sleep(UNDO / 2 if self.step == "told" else random.uniform(0, (count + 1) * STAGGER))
        for part in PARTS[self.part]:
            desk.send(part, SIGKILL)

    def _step(self, story: Story, step: str, after: float) -> None:
        time.sleep(after)
        try:
            getattr(story, step)()
        except (Refused, KeyError, ValueError) as fault:
            story.faults.append(f"{story.how}: {step}: {type(fault).__name__} {fault}")


CELLS = [Cell(kind, step, part) for kind in (Program, Turn) for step in kind.steps for part in PARTS]


def main() -> int:
    """Run every cell; the exit status."""
    parser = argparse.ArgumentParser(prog="bench.gate.killed", description=__doc__)
    parser.add_argument("--stories", type=int, default=4, help="at the step at once (default 4)")
    parser.add_argument("--only", default="", help="cells whose name contains these words")
    options = parser.parse_args()
    rows, faults = [], []
    with folder() as place:
        desk = Desk(place, more={"COUNTERSIGN_UNDO_SECONDS": str(UNDO)})
        try:
            cast = _cast(desk)
            for cell in CELLS:
                if options.only in cell.name:
                    seconds, found = cell.run(cast, options.stories)
                    rows.append((cell.name, str(options.stories), str(len(found)), f"{seconds:.1f}"))
                    print(" ".join(rows[-1]), *found, sep="\n  ", flush=True)
                    faults += found
            verified = desk.manage("audit", "verify", "--all").splitlines()[-1]
        finally:
            desk.stop()
    print(table(("what was killed", "stories", "faults", "step took s"), rows))
    print(f"\n{verified}\nanswers that were asked again: {dict(cast.refusals)}; {len(faults)} faults")
    return 1 if faults else 0


def _cast(desk: Desk) -> Cast:
    key, member, _ = people(desk, keys=1, members=1)
    asker = desk.manage("apikey", "create", "--name", "asker", "--role", "agent").split()[-1]
    parrot = desk.call("/api/v1/agents", {"name": "Parrot", "runtime": "scripted"})["id"]
    signed_in = member.headers | {"Authorization": ""}
    return Cast(desk, {"Authorization": f"Bearer {asker}"}, key.headers, signed_in, parrot)


if __name__ == "__main__":
    raise SystemExit(main())
