"""One session of the fake: its log, its streams, and what it accepts in which state. Runs in the server's loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .managed_agents_errors import ApiError, bad, new_id, now, only
from .managed_agents_steps import USED, Say, Stopped, Use

CUT, CUT_IN_A_FRAME, END = object(), object(), object()
"""What a stream is told besides events."""
ANSWERS = {"user.tool_confirmation": "tool_use_id", "user.custom_tool_result": "custom_tool_use_id"}
WITHOUT_WAITING = (
    "only user.tool_confirmation, user.custom_tool_result, user.tool_result, or user.interrupt may be sent"
)


@dataclass
class Switches:
    """How the fake misbehaves; seconds where nothing else is said."""

    tool_use_after_idle: float = 0.0
    """So long after the idle event its tool_use arrives, on the stream and in the list."""
    interrupt_lag: float = 0.0
    unpark_lag: float = 0.0
    post_idle_lag: float = 0.0
    """So long after the idle event the row still says running."""
    drop_event_line: bool = False
    ping: float = 0.2
    empty_event_ids: bool = False
    """``requires_action`` without saying for what."""


class FakeSession:
    def __init__(self, world: Any, body: dict[str, Any], agent: dict[str, Any]) -> None:
        self.world, self.switches = world, world.switches
        self.id, self.agent = new_id("sesn"), agent
        self.body = body
        self.status, self.archived_at, self.deleted = "idle", None, False
        self.created_at = self.updated_at = now()
        self.events: list[dict[str, Any]] = []
        self.streams: list[tuple[asyncio.Queue[Any], set[str]]] = []
        self.waiting: list[dict[str, Any]] = []
        """Messages that no run has taken up yet."""
        self.parked: dict[str, Use] = {}
        """Calls that wait for an answer."""
        self.answers: dict[str, dict[str, Any]] = {}
        self._answered = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.cents, self.used = 0, dict.fromkeys(USED, 0)
        self.budget = body.get("budget")
        self.over_budget = False
        self.primary = new_id("sthr")
        self.threads: dict[str, dict[str, Any]] = {}
        self.sent: list[dict[str, Any]] = []
        """What clients posted, in order."""

    # --- how it looks from outside ---

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id, "type": "session", "agent": self.agent, "environment_id": self.body["environment_id"],
            "title": self.body.get("title"), "metadata": self.body.get("metadata") or {}, "outcome_evaluations": [],
            "resources": [], "vault_ids": [], "deployment_id": None, "budget": self.budget, "status": self.status,
            "stats": {"active_seconds": 1.0, "duration_seconds": 1.0}, "usage": self.usage(),
            "created_at": self.created_at, "updated_at": self.updated_at, "archived_at": self.archived_at,
            "future_field": {"of": "a version that is not out yet"},
        }  # fmt: skip

    def usage(self) -> dict[str, Any]:
        used = {name: self.used[name] for name in ("input_tokens", "output_tokens", "cache_read_input_tokens")}
        created = {
            "ephemeral_5m_input_tokens": self.used["cache_creation_input_tokens"],
            "ephemeral_1h_input_tokens": 0,
        }
        cost = {"amount": str(self.cents), "currency": "USD"}
        return used | {"cache_creation": created, "list_cost": cost, "active_seconds": 1.0}

    # --- events ---

    def reserve(self, kind: str) -> str:
        return new_id("sevt")

    def emit(self, kind: str, *, id: str = "", **fields: Any) -> dict[str, Any]:
        """Into the log and onto the streams."""
        event = {"id": id or new_id("sevt"), "type": kind, **fields}
        event.setdefault("processed_at", now())
        self.events.append(event)
        self.show(event)
        return event

    def show(self, event: dict[str, Any]) -> None:
        for queue, _ in self.streams:
            queue.put_nowait(dict(event))

    def preview(self, event: dict[str, Any]) -> None:
        for queue, wanted in self.streams:
            if "agent.message" in wanted:
                queue.put_nowait(event)

    def stamp(self, event: dict[str, Any]) -> None:
        """A queued event is taken up: it comes a second time, with its time, and stands at the end of the list."""
        event["processed_at"] = now()
        self.events.remove(event)
        self.events.append(event)
        self.show(event)

    def cut_streams(self, *, half: bool) -> None:
        for queue, _ in self.streams:
            queue.put_nowait(CUT_IN_A_FRAME if half else CUT)
        self.streams.clear()

    def begin_request(self, cents: int) -> str:
        self.cents += cents
        return self.emit("span.model_request_start")["id"]

    def end_request(self, request: str, *, failed: bool = False) -> None:
        for name, tokens in USED.items():
            self.used[name] += tokens
        self.emit("span.model_request_end", model_request_start_id=request, is_error=failed, model_usage=dict(USED))
        limit = self.budget and int(self.budget["max_list_cost"]["amount"])
        if limit and self.cents >= limit:
            self.over_budget = True

    # --- sub-agents ---

    def new_thread(self, name: str) -> str:
        thread = new_id("sthr")
        self.threads[thread] = {"name": name, "events": []}
        return thread

    def thread_request(self, thread: str, text: str, cents: int) -> None:
        """What a sub-agent does stands on its own list; its cost is the session's."""
        self.cents += cents
        start = {"id": new_id("sevt"), "type": "span.model_request_start", "processed_at": now()}
        said = {"id": new_id("sevt"), "type": "agent.message", "content": [{"type": "text", "text": text}]}
        end = {"id": new_id("sevt"), "type": "span.model_request_end", "model_request_start_id": start["id"]}
        end |= {"is_error": False, "model_usage": dict(USED), "processed_at": now()}
        self.threads[thread]["events"] += [start, said | {"processed_at": now()}, end]

    def threads_json(self) -> list[dict[str, Any]]:
        both = {self.primary: {"name": self.agent["name"]}} | self.threads
        return [
            {
                "id": id_, "type": "session_thread", "session_id": self.id, "status": "idle", "stats": None,
                "parent_thread_id": None if id_ == self.primary else self.primary, "usage": None,
                "agent": self.agent | {"name": told["name"], "model": {"id": "claude-haiku-4-5"}},
                "created_at": self.created_at, "updated_at": now(), "archived_at": None,
            }
            for id_, told in both.items()
        ]  # fmt: skip

    # --- a turn ---

    def start(self) -> None:
        if self._task is None and self.waiting and not self.over_budget:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        reason: dict[str, Any] = {"type": "end_turn"}
        details = None
        try:
            self._running()
            while self.waiting:
                message = self.waiting.pop(0)
                self.stamp(message)
                for step in self.world.script_for(message):
                    await step.play(self)
                    if self.over_budget:
                        raise Stopped("budget_reached")
        except Stopped as stopped:
            reason, details = {"type": stopped.reason}, stopped.details
        if reason["type"] == "terminated":
            self.status = "terminated"
            self.emit("session.status_terminated")
            return
        self._task = None
        self._idle(reason, details)
        self.start()

    def _running(self) -> None:
        self.status = "running"
        self.emit("session.status_running")
        self.emit("session.thread_status_running", session_thread_id=self.primary, agent_name=self.agent["name"])

    def _idle(self, reason: dict[str, Any], details: dict[str, Any] | None = None) -> None:
        more = {"stop_reason": reason} | ({"stop_details": details} if details else {})
        self.emit("session.thread_status_idle", session_thread_id=self.primary, agent_name=self.agent["name"], **more)
        self.emit("session.usage", usage=self.usage(), budget=self.budget)
        self.emit("session.status_idle", **more)
        if self._task is None and (lag := self.switches.post_idle_lag):
            asyncio.get_running_loop().call_later(lag, self._rest)
        else:
            self._rest()

    def _rest(self) -> None:
        if self._task is None or self.parked:
            self.status = "idle"

    async def wait_for_answers(
        self, made: dict[str, Use], asks: list[str], late: Callable[[], None] | None
    ) -> dict[str, dict[str, Any]]:
        """Idle until every ask is answered; after each answer but the last it says again what it still waits for."""
        self.parked = {id_: made[id_] for id_ in asks}
        told: list[str] = []
        while remain := [id_ for id_ in asks if id_ not in self.answers]:
            if remain != told:
                told = remain
                self._idle({"type": "requires_action", "event_ids": [] if self.switches.empty_event_ids else remain})
            if late:
                await asyncio.sleep(self.switches.tool_use_after_idle)
                late()
                late = None
            self._answered.clear()
            await self._answered.wait()
        await asyncio.sleep(self.switches.unpark_lag)
        self.parked = {}
        self._running()
        for id_ in asks:
            if self.answers[id_]["processed_at"] is None:
                self.stamp(self.answers[id_])
        return {id_: self.answers[id_] for id_ in asks}

    async def _interrupt(self, event: dict[str, Any]) -> None:
        await asyncio.sleep(self.switches.interrupt_lag)
        self.stamp(event)
        if self._task is None:
            return
        self._task.cancel()
        self._task, self.parked = None, {}
        self._idle({"type": "end_turn"})
        self.start()

    # --- what is sent ---

    def receive(self, batch: Any) -> list[dict[str, Any]]:
        """The events of one request: all of them or none."""
        if self.archived_at or self.status == "terminated":
            raise bad(f"session {self.id} is {'archived' if self.archived_at else 'terminated'} and takes no events")
        events = only(batch, "events").get("events")
        if not isinstance(events, list) or not events:
            raise bad("events: at least one event is needed")
        interrupted = False
        for index, event in enumerate(events):
            self._check(event, index, interrupted)
            interrupted |= event["type"] == "user.interrupt"
        return [self._take(event) for event in events]

    def _check(self, event: Any, index: int, interrupted: bool) -> None:
        kind = event.get("type") if isinstance(event, dict) else None
        where = f"Invalid {kind} event at events[{index}]: "
        if kind == "user.interrupt":
            only(event, "type", "session_thread_id")
        elif kind in ANSWERS:
            self._check_answer(event, kind, where)
        elif kind == "user.message":
            only(event, "type", "content")
            _check_content(event.get("content"), where)
            if self.parked and not interrupted:
                raise bad(f"{where}waiting on responses to events [{', '.join(self.parked)}]; {WITHOUT_WAITING}")
            if self.over_budget:
                raise bad(f"{where}the session has reached its budget; {WITHOUT_WAITING}")
        else:
            raise bad(f"events[{index}].type: {kind!r} is not an event that can be sent")

    def _check_answer(self, event: dict[str, Any], kind: str, where: str) -> None:
        name = ANSWERS[kind]
        id_, wanted = event.get(name), "custom_tool_use" if name.startswith("custom") else "tool_use"
        if kind == "user.tool_confirmation":
            only(event, "type", name, "result", "deny_message")
            if event.get("result") not in ("allow", "deny"):
                raise bad(f"{where}result: allow or deny")
            if event["result"] == "allow" and event.get("deny_message") is not None:
                raise bad(f"{where}deny_message is only allowed when result is deny")
        else:
            only(event, "type", name, "content", "is_error")
            if "content" in event:
                _check_content(event["content"], where)
        made = next((one for one in self.events if one["id"] == id_), None)
        custom = made is not None and made["type"] == "agent.custom_tool_use"
        use = made is not None and made["type"] in ("agent.tool_use", "agent.mcp_tool_use")
        if not (custom if wanted == "custom_tool_use" else use):
            raise bad(f"{where}{name} {id_} does not match any {wanted} event in this session")
        if id_ not in self.parked or id_ in self.answers:
            raise bad(f"{where}{name} {id_} is not awaiting a response")

    def _take(self, event: dict[str, Any]) -> dict[str, Any]:
        self.sent.append(event)
        kind = event["type"]
        stamped = {"processed_at": now() if kind == "user.custom_tool_result" else None}
        taken = self.emit(kind, **{k: v for k, v in event.items() if k != "type"} | stamped)
        answer = dict(taken)
        if kind == "user.message":
            self.waiting.append(taken)
            asyncio.get_running_loop().call_soon(self.start)
        elif kind == "user.interrupt":
            asyncio.get_running_loop().create_task(self._interrupt(taken))
        else:
            self.answers[taken[ANSWERS[kind]]] = taken
            self._answered.set()
        return answer

    # --- what else can be done with it ---

    def update(self, body: dict[str, Any]) -> dict[str, Any]:
        body = only(body, "title", "metadata", "agent", "budget", "vault_ids")
        if "vault_ids" in body:
            raise bad("vault_ids: updating vault_ids is not yet supported")
        if "agent" in body:
            if self.status != "idle":
                raise bad(f"session {self.id} cannot be updated while its status is {self.status}")
            self.agent = self.agent | self.world.checked_tools(only(body["agent"], "tools", "mcp_servers"))
        if "budget" in body:
            self._set_budget(body["budget"])
        self.body |= {key: body[key] for key in ("title",) if key in body}
        if "metadata" in body:
            merged = self.body.get("metadata", {}) | (body["metadata"] or {})
            self.body["metadata"] = {key: value for key, value in merged.items() if value is not None}
        self.emit("session.updated", **body)
        return self.as_json()

    def _set_budget(self, budget: dict[str, Any] | None) -> None:
        if self.budget is None:
            raise ApiError(400, "invalid_request_error", "budget: a budget can only be set when a session is created")
        if budget and int(budget["max_list_cost"]["amount"]) <= self.cents:
            raise bad("budget: max_list_cost must be above what the session has consumed")
        self.budget, self.over_budget = budget, False
        self.start()

    def archive(self) -> dict[str, Any]:
        self._must_rest("archived")
        self.archived_at = self.archived_at or now()
        self.status = "terminated"
        return self.as_json()

    def delete(self) -> dict[str, Any]:
        self._must_rest("deleted")
        self.deleted = True
        self.show({"id": new_id("sevt"), "type": "session.deleted", "processed_at": now()})
        for queue, _ in self.streams:
            queue.put_nowait(END)
        return {"id": self.id, "type": "session_deleted"}

    def _must_rest(self, what: str) -> None:
        if self.status in ("running", "rescheduling"):
            raise bad(f"session {self.id} cannot be {what} while its status is {self.status}")


def _check_content(content: Any, where: str) -> None:
    blocks = content if isinstance(content, list) else []
    if not blocks:
        raise bad(f"{where}content: at least one block is needed")
    for block in blocks:
        if not isinstance(block, dict) or block.get("type") not in ("text", "image", "document", "search_result"):
            raise bad(f"{where}content: no block that can be sent")
        if block["type"] == "text" and not str(block.get("text") or "").strip():
            raise bad(f"{where}content: text content blocks must be non-empty")


DEFAULT_SCRIPT = [Say("Done.")]
