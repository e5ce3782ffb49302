"""Load on a desk while it is broken, and a note of everything that it has accepted."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import psycopg

from .desk import Desk, Refused

LINES = 40
"""Of an imported file."""


@dataclass
class Accepted:
    """What the desk said yes to, and so must be there at the end."""

    hooks: set[str] = field(default_factory=set)
    messages: set[str] = field(default_factory=set)
    """Texts, each sent once to a session of its own."""
    events: set[str] = field(default_factory=set)
    """Client ids of one session."""
    imports: set[str] = field(default_factory=set)
    approvals: dict[str, float] = field(default_factory=dict)
    """Id, and when it has to have expired (time.time)."""


class Load:
    """Writers of every kind, each a thread, until it is left. What is refused is sent again, as a sender would."""

    def __init__(self, desk: Desk, *, hooks_per_second: float = 5, other_rate: float = 1.0) -> None:
        self.desk, self.accepted = desk, Accepted()
        self._hooks_per_second, self._rate = hooks_per_second, other_rate
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self.faults: list[str] = []
        self.refusals: dict[int, int] = {}
        self.turn_seconds: list[float] = []
        self._set_up()

    def _set_up(self) -> None:
        call = self.desk.call
        self.parrot = call("/api/v1/agents", {"name": f"Parrot {uuid4().hex[:6]}", "runtime": "scripted"})["id"]
        self.outside = call("/api/v1/agents", {"name": f"Outside {uuid4().hex[:6]}", "runtime": "external"})["id"]
        self.log = call(f"/dashboard/agents/{self.outside}/sessions", {"title": "appended to"})["id"]
        hook = {"name": f"drills-{uuid4().hex[:6]}", "scheme": "none", "agent_id": self.parrot}
        self.hook = call("/api/v1/webhooks", hook)["url"].split("/", 3)[3]
        every_minute = {"agent_id": self.parrot, "name": f"Each minute {uuid4().hex[:6]}", "cron": "* * * * *"}
        self.schedule = call("/api/v1/schedules", every_minute | {"input_text": "It is time"})["id"]

    @contextmanager
    def only_machines(self) -> Iterator[None]:
        """Webhooks and imports alone, from several senders at once, for a block."""
        senders = 4
        for _ in range(senders):
            self._start(self.post_hook, senders / self._hooks_per_second)
        self._start(self.import_file, 3 / self._rate)
        try:
            yield
        finally:
            self.__exit__()

    def _start(self, once: Callable[[], object], seconds: float) -> None:
        thread = threading.Thread(target=self._go_on, args=(once, seconds), daemon=True)
        self._threads.append(thread)
        thread.start()

    def __enter__(self) -> Load:
        kinds: list[tuple[Callable[[], object], float]] = [
            (self.post_hook, 1 / self._hooks_per_second if self._hooks_per_second else 0),
            (self.start_turn, 1.5 / self._rate),
            (self.append, 0.3 / self._rate),
            (self.import_file, 3 / self._rate),
            (self.ask, 2 / self._rate),
        ]
        for once, seconds in kinds:
            if seconds:
                self._start(once, seconds)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _go_on(self, once: Callable[[], object], seconds: float) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            try:
                once()
            except Exception as fault:  # the load goes on, and the fault stands in the report
                self.faults.append(f"{once.__name__}: {type(fault).__name__}: {fault}")
            due = max(due + seconds, time.monotonic() - 5)  # what could not be sent is not made up for at once
            self._stop.wait(max(due - time.monotonic(), 0.01))

    def until_accepted(self, send: Callable[[], Any]) -> Any:
        """Send until it is accepted; a sender that stops before does not know whether it was."""
        while True:
            try:
                return send()
            except Refused as refused:
                self.refusals[refused.status] = self.refusals.get(refused.status, 0) + 1
                if refused.status not in (0, 429, 500, 502, 503, 504, 507):
                    raise
                time.sleep(random.uniform(0.2, 0.8))

    # --- kinds ---

    def post_hook(self) -> None:
        """A webhook, by a sender that repeats it under the same id."""
        name = uuid4().hex
        headers = {"X-Request-Id": name, "Idempotency-Key": name}
        self.until_accepted(lambda: self.desk.call(f"/{self.hook}", {"id": name}, headers=headers))
        self.accepted.hooks.add(name)

    def start_turn(self) -> str:
        """A session with a message of a person; returns its id."""
        text = f"say {uuid4().hex}"
        key = {"Idempotency-Key": uuid4().hex}
        path = f"/dashboard/agents/{self.parrot}/sessions"
        session = self.until_accepted(lambda: self.desk.call(path, {"message": text}, headers=key))["id"]
        self.accepted.messages.add(text)
        return session

    def append(self) -> None:
        """Five events from outside."""
        ids = [uuid4().hex for _ in range(5)]
        events = [{"client_id": one, "kind": "agent_message", "text": f"said {one}"} for one in ids]
        self.until_accepted(lambda: self.desk.call(f"/api/v1/sessions/{self.log}/events", {"events": events}))
        self.accepted.events.update(ids)

    def import_file(self) -> str:
        """A small transcript, different each time; returns the id of the import."""
        session = str(uuid4())
        lines = [
            {
                "type": "user" if number % 2 == 0 else "assistant", "uuid": str(uuid4()), "sessionId": session,
                "timestamp": f"2026-04-06T08:15:{number:02d}.000Z", "cwd": "/srv", "version": "2.1.0",
                "message": {"role": "user" if number % 2 == 0 else "assistant", "content": f"line {number} {session}"},
            }
            for number in range(LINES)
        ]  # fmt: skip
        content = "\n".join(map(json.dumps, lines)).encode()
        imported = self.until_accepted(lambda: self.desk.upload(f"{session}.jsonl", content))
        self.accepted.imports.add(imported)
        return imported

    def ask(self) -> str:
        """An approval that nobody decides, and that expires after 5 s; returns its id."""
        client = uuid4().hex
        question = {
            "session_id": self.log, "tool": {"name": "refund", "arguments": {"of": client}}, "expires_in": 5,
            "client_id": client,
        }  # fmt: skip
        made = self.until_accepted(lambda: self.desk.call("/api/v1/approvals", question))
        self.accepted.approvals[made["id"]] = time.time() + 5
        return made["id"]

    # --- probes: how long until a thing that begins now is done ---

    def seconds_until_done(
        self, begin: Callable[[], str], done: Callable[[str], bool], patience: float, not_before: float = 0.0
    ) -> float:
        """Seconds from now until what ``begin`` starts is ``done``; infinite after ``patience``.

        Nothing is asked in the first ``not_before`` seconds: the questions take time from what is measured.
        """
        began = time.monotonic()
        one = begin()
        time.sleep(not_before)
        while time.monotonic() - began < patience:
            with suppress(Refused):
                if done(one):
                    return time.monotonic() - began
            time.sleep(0.1)
        return float("inf")

    def has_expired(self, approval: str) -> bool:
        """Whether an approval has expired, by its row: who asks the API about it makes it expire."""
        try:
            [(status,)] = self.desk.ask("SELECT status FROM sessions_app_approval WHERE id = %s", approval)
        except psycopg.OperationalError:
            return False
        return status == "expired"

    def probes(self, patience: float) -> dict[str, float]:
        """Seconds until each kind of work begun now is done; all at once."""
        call = self.desk.call
        kinds: dict[str, Callable[[], float]] = {
            "turn": lambda: self.seconds_until_done(
                self.start_turn, lambda one: call(f"/api/v1/sessions/{one}")["status"] == "idle", patience
            ),
            "import": lambda: self.seconds_until_done(
                self.import_file, lambda one: call(f"/api/v1/imports/{one}")["status"] == "done", patience
            ),
            "expiry": lambda: self.seconds_until_done(self.ask, self.has_expired, patience) - 5,
            "ready": lambda: self.seconds_until_done(lambda: "", lambda _: self.desk.ready(), patience),
        }
        found: dict[str, float] = {}

        def probe(name: str, measure: Callable[[], float]) -> None:
            try:
                found[name] = measure()
            except Exception as fault:  # a probe that is refused has not recovered
                self.faults.append(f"probe {name}: {type(fault).__name__}: {fault}")
                found[name] = float("inf")

        threads = [threading.Thread(target=probe, args=kind) for kind in kinds.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if found["turn"] != float("inf"):
            self.turn_seconds.append(found["turn"])
        return found
