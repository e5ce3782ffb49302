"""Calls that wait as tasks (extension ``io.modelcontextprotocol/tasks`` of 2026-07-28): the client polls for them.

A task lives as long as the gateway, which its client has started; the question itself is kept by the desk.
"""

from __future__ import annotations

import threading
import uuid
from datetime import UTC, datetime
from typing import Any

from .messages import INVALID_PARAMS, TASKS, Json, answer, fault, params_of, takes_tasks
from .questions import Decided, Waiting

METHODS = ("tasks/get", "tasks/update", "tasks/cancel")
MISSING_CAPABILITY = -32021
KEPT = 3600.0
"""Seconds that a client may take to fetch the result."""
POLL = 1.0
MOST = 1_000
WAITS, RUNS = "Waits for a decision at the desk.", "Was allowed, and runs."


class Task:
    """``ttl``: seconds from now until the client may take it for lost."""

    def __init__(self, ttl: float) -> None:
        self.id, self.status, self.message = str(uuid.uuid4()), "working", WAITS
        self.running_as = ""
        """The id under which the server was asked; empty while the call does not run."""
        self.waiting: Waiting | Decided | None = None
        self._created = self._updated = _now()
        self._ttl, self._more = ttl, dict[str, Any]()
        self._changed = threading.Condition()
        self._asked: dict[str, str] = {}
        self._given: Json = {}
        self._rounds = 0

    @property
    def is_over(self) -> bool:
        return self.status not in ("working", "input_required")

    def told(self) -> Json:
        """As ``tasks/get`` tells it."""
        with self._changed:
            return {
                "taskId": self.id, "status": self.status, "statusMessage": self.message, "createdAt": self._created,
                "lastUpdatedAt": self._updated, "ttlMs": int(self._ttl * 1000), "pollIntervalMs": int(POLL * 1000),
                **self._more,
            }  # fmt: skip

    def begin(self, running_as: str) -> bool:
        """The call runs from now on. False where the client has taken it back."""
        with self._changed:
            if self.is_over:
                return False
            self.running_as = running_as
            self._move("working", RUNS)
            return True

    def end(self, status: str, **more: Any) -> None:
        """``completed`` with ``result``, ``failed`` with ``error``, or ``cancelled``. The first end stands."""
        with self._changed:
            if not self.is_over:
                self._move(status, "", **more)

    def cancel(self) -> str:
        """Take it back; the id under which the server has to be told so, empty where the call never began."""
        with self._changed:
            running, self.running_as = self.running_as, ""
            if not self.is_over:
                self._move("cancelled", "Taken back by the client." if running else "Taken back before it ran.")
            return running

    def ask_back(self, requests: Json, seconds: float) -> Json | None:
        """Wait for what the client answers to the server's questions; None where it does not, or took it back.

        A key is used once in the life of a task, so that ours carry a number.
        """
        with self._changed:
            if self.is_over:
                return None
            self._rounds += 1
            self._asked = {f"{self._rounds}.{key}": key for key in requests}
            self._given, self.running_as = {}, ""
            named = {number: requests[key] for number, key in self._asked.items()}
            self._move("input_required", "The server asks back.", inputRequests=named)
            self._changed.wait_for(lambda: self.is_over or len(self._given) == len(self._asked), seconds)
            if self.is_over or len(self._given) < len(self._asked):
                return None
            self._move("working", WAITS)
            return {key: self._given[number] for number, key in self._asked.items()}

    def update(self, responses: Json) -> None:
        """Answers to what was asked; others are ignored, and so is a second answer."""
        with self._changed:
            self._given |= {key: value for key, value in responses.items() if key in self._asked} | self._given
            self._changed.notify_all()

    def _move(self, status: str, message: str, **more: Any) -> None:
        self.status, self.message, self._more, self._updated = status, message, more, _now()
        self._changed.notify_all()


class Tasks:
    """The tasks of one gateway."""

    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}
        self._changing = threading.Lock()

    def add(self, seconds: float) -> Task:
        """A task that waits ``seconds`` for its decision."""
        task = Task(seconds + KEPT)
        with self._changing:
            over = [id_ for id_, one in self._tasks.items() if one.is_over]
            for id_ in over[: max(len(self._tasks) - MOST, 0)]:
                del self._tasks[id_]
            self._tasks[task.id] = task
        return task

    def find(self, message: Json) -> Task | None:
        """The task of ours that a request is about; others are the server's."""
        id_ = params_of(message).get("taskId")
        with self._changing:
            return self._tasks.get(id_) if message.get("method") in METHODS and isinstance(id_, str) else None

    def waiting(self) -> list[Waiting | Decided | None]:
        """What the tasks that are not over wait for."""
        with self._changing:
            return [task.waiting for task in self._tasks.values() if not task.is_over]

    def end_all(self) -> None:
        with self._changing:
            for task in self._tasks.values():
                task.cancel()


def reply(message: Json, task: Task) -> Json:
    """The answer to a request about a task; what a cancellation means for the server is the caller's."""
    id_, method = message.get("id"), message["method"]
    if not takes_tasks(message):
        needed: Json = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        refused = fault(id_, MISSING_CAPABILITY, "Missing required client capability")
        return refused | {"error": refused["error"] | {"data": needed}}
    if method == "tasks/update":
        responses = params_of(message).get("inputResponses")
        if not isinstance(responses, dict):
            return fault(id_, INVALID_PARAMS, "inputResponses is no object")
        task.update(responses)
    return answer(id_, {"resultType": "complete"} | (task.told() if method == "tasks/get" else {}))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
