"""A session of an agent, told to a desk as it goes: ``Session``, and ``AsyncSession`` for event loops.

What is recorded is on disk when the call returns, and is sent by a thread (``recording``): the program waits for no
network. Nothing here breaks the program unless it is asked to (``strict``); only what is read from the desk raises.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import os
import uuid
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, urlencode

from . import wire
from .answers import Decision
from .client import AsyncClient, Client, NotConfigured
from .out_of_sight import OutOfSight
from .recording.clock import now
from .recording.encoding import encoded
from .recording.recorder import LIMIT, Progress, recorder_for
from .recording.spans import ToolCall, Turn
from .state import DeskError, NotSent, State, StateConflict

__all__ = ["AsyncSession", "DeskError", "NotSent", "Session", "SpoolFull", "StateConflict"]
Json = dict[str, Any]
KINDS = {"user": "user_message", "assistant": "agent_message", "system": "system"}
"""Kinds of event by the role of a message."""
ACTORS = {"user": "person", "assistant": "agent", "system": "system"}
ROLES = {kind: role for role, kind in KINDS.items()}
PAGE = 500
"""Events that the desk answers at once."""
LAST = 2**31 - 1
"""Behind every event."""
SETTLE = 5.0
"""Seconds that what is read or asked waits for what was recorded before it."""
PROMPT, PATIENCE = 30.0, 300.0
"""Seconds for an answer, and for a file."""
_keys = itertools.count(1)
logger = logging.getLogger("countersign")


class SpoolFull(Exception):
    """An event was not recorded: as much as the spool holds waits for the desk."""


class _Recorded(State):
    """What both kinds of session record; none of it waits for the desk. What they keep (``State``) does."""

    def __init__(
        self, id: str | None = None, app_name: str = "agent", user_id: str | None = None, metadata: Json | None = None,
        retention: Json | None = None, *, title: str | None = None, url: str | None = None, api_key: str | None = None,
        spool: str | os.PathLike[str] | None = None, limit: int = LIMIT, when_full: Literal["drop", "wait"] = "drop",
        strict: bool = False,
    ) -> None:  # fmt: skip
        """The session that the agent ``app_name`` knows as ``id``: the same id again goes on in it.

        ``COUNTERSIGN_URL`` and ``COUNTERSIGN_API_KEY`` (the role ``agent`` is enough) stand in for what is not given.
        ``retention`` says how long its messages are in sight: ``ttl_days``, ``auto_prune``, ``prune_strategy``,
        ``max_messages``, ``immutable`` (legal hold). A session that is there keeps the one that it has, which is logged
        where it differs. ``spool`` is the folder that events wait in, ``limit`` its bytes; ``when_full``: ``drop`` the
        event, which the log then says, or ``wait`` for room. ``strict``: raise what is otherwise logged.
        """
        super().__init__()
        self.id, self.app_name, self.strict = id or str(uuid.uuid4()), app_name, strict
        self.user_id = user_id
        self._waits = when_full == "wait"
        self._missing = 0
        self._key = next(_keys)
        self._desk_id = ""
        said: Json = {"agent": app_name, "external_id": self.id, "title": title, "user_id": user_id}
        said |= {"metadata": metadata or None, "retention": retention or None}
        self._retention = dict(retention or {})
        self._url = url or os.environ.get("COUNTERSIGN_URL")
        self._api_key = api_key or os.environ.get("COUNTERSIGN_API_KEY")
        self._recorder = None
        try:
            given = {name: value for name, value in said.items() if value is not None}
            self._opening = encoded(given, strict=strict)
            self._recorder = recorder_for(*self._desk(), Path(spool) if spool else None, limit)
        except (NotConfigured, ValueError, TypeError, OSError) as error:
            self._wrong(error, "this session is not recorded")

    def message(
        self, text: str, role: Literal["user", "assistant", "system"] = "assistant", *, name: str | None = None,
        model: str | None = None, data: Json | None = None, client_id: str | None = None,
    ) -> str:  # fmt: skip
        """A message, ``name``: of whom; one of the user begins a turn. Answers its client id, or nothing."""
        if role not in KINDS:
            return self._wrong(ValueError(f'"{role}" is no role: use user, assistant or system'))
        more = {"actor": {"kind": ACTORS[role], "name": name}} if name else {}
        return self.record(KINDS[role], text=text, model=model, data=data, client_id=client_id, **more)

    def turn(self, prompt: str, *, name: str | None = None) -> Turn:
        """A context manager: the person's message at its begin, and the error that ends it."""
        return Turn(self, prompt, name)

    def tool_call(
        self, name: str, arguments: Any = None, *, server: str | None = None, call_id: str | None = None
    ) -> ToolCall:
        """A context manager: the call at its begin; result, status and duration at its end."""
        return ToolCall(self, name, arguments, server, call_id or uuid.uuid4().hex)

    def usage(
        self, *, model: str, input_tokens: int | None = None, output_tokens: int | None = None,
        cache_read_tokens: int | None = None, cache_write_tokens: int | None = None,
        reasoning_tokens: int | None = None, cost: str | None = None, data: Json | None = None,
        client_id: str | None = None,
    ) -> str:  # fmt: skip
        """One response of a model. Cached tokens are no part of ``input_tokens``; reasoning is part of the output.

        ``cost``: US dollars as text; without it the desk prices the tokens.
        """
        counts = {
            "input_tokens": input_tokens, "cache_read_tokens": cache_read_tokens,
            "cache_write_tokens": cache_write_tokens, "output_tokens": output_tokens,
            "reasoning_tokens": reasoning_tokens,
        }  # fmt: skip
        told = {counted: count for counted, count in counts.items() if count is not None}
        for counted, count in told.items():
            if isinstance(count, bool) or not isinstance(count, int) or count < 0:
                return self._wrong(ValueError(f"{counted} is {count!r}: tokens are whole numbers from 0"))
        return self.record("model_request", model=model, usage=told, cost=cost, data=data, client_id=client_id)

    def decision(self, title: str, *, status: str = "proposed", client_id: str | None = None, **fields: Any) -> str:
        """A decision that this session led to, as the agent tells it; answers its client id, or nothing.

        ``fields`` are those of a product graph: ``rationale``, ``context``, ``options_considered`` and others
        (``docs/graph.md``). What people decide about it they record at the desk.
        """
        said = {"title": title, "status": status, **fields}
        return self.record("note", text=title, data={"decision": said}, client_id=client_id)

    def evidence(
        self, title: str, *, about: str | None = None, client_id: str | None = None, **fields: Any
    ) -> str:  # fmt: skip
        """Evidence: ``about`` is what ``decision`` answered, ``direction`` supports, refutes or neutral."""
        data = {"name": title, "evidence": {"title": title, **fields}}
        return self.record(
            "artifact", text=str(fields.get("summary") or title), data=data, parent_client_id=about or None,
            client_id=client_id,
        )  # fmt: skip

    def record(self, kind: str, *, client_id: str | None = None, **fields: Any) -> str:
        """Any event (``POST /api/v1/sessions/{id}/events``): its client id, empty where it was not recorded.

        The same ``client_id`` again is the same event, which is in the log once. Where strict, raises ``SpoolFull``,
        ``OSError``, and ``ValueError`` or ``TypeError`` for what is no JSON.
        """
        recorder = self._recorder
        if recorder is None:
            return self._wrong(NotConfigured("this session is not recorded"))
        try:
            client_id = client_id or f"{recorder.run}-{next(recorder.numbers)}"
            event = {"client_id": client_id, "kind": kind, "at": now()}
            for name, value in fields.items():
                if value is not None:
                    event[name] = value
            if self._missing:
                self._tell_what_is_missing()
            if self._put(encoded(event, strict=self.strict)):
                return client_id
            self._missing += 1
            raise SpoolFull("as much as the spool holds waits for the desk")
        except Exception as error:
            return self._wrong(error, "an event was not recorded", once=isinstance(error, SpoolFull))

    def progress(self) -> Progress:
        """What became of what this process recorded for the desk, of all its sessions."""
        return self._recorder.progress() if self._recorder else Progress(0, 0, 0, 0, "not configured")

    @property
    def missing(self) -> int:
        """Events that were not recorded since the spool is full; the log says how many when there is room again."""
        return self._missing

    def _put(self, event: bytes) -> bool:
        assert self._recorder is not None
        return self._recorder.put(self._key, self._opening, event, wait=self._waits)

    def _tell_what_is_missing(self) -> None:
        """In the log, where they would stand: a record that has a gap has to say so."""
        assert self._recorder is not None
        said = f"{self._missing} event(s) before this one were not recorded: the spool was full"
        note = {
            "client_id": f"{self._recorder.run}-{next(self._recorder.numbers)}", "kind": "note", "text": said,
            "at": now(), "actor": {"kind": "system"}, "data": {"missing": self._missing},
        }  # fmt: skip
        if self._put(encoded(note, strict=True)):
            self._missing = 0

    def _wrong(self, error: Exception, what: str = "an event was not recorded", once: bool = False) -> str:
        if self.strict:
            raise error
        if not once or self._missing == 1:
            logger.warning("countersign: %s: %s", what, error)
        return ""

    def _flushed(self, timeout: float) -> bool:
        return self._recorder.flush(timeout, patient=timeout > SETTLE) if self._recorder else False

    def _settle(self) -> None:
        """Wait until the desk has what was recorded before. Raises ``NotSent``: who reads would not know what lacks."""
        if self._recorder and not self._recorder.flush(SETTLE) and (left := self._recorder.unsent_of(self._opening)):
            raise NotSent(left, self._recorder.progress().fault)

    def _desk(self) -> tuple[wire.Address, str]:
        if not self._url or not self._api_key:
            raise NotConfigured(f"{'COUNTERSIGN_API_KEY' if self._url else 'COUNTERSIGN_URL'} is not set")
        try:
            return wire.Address(self._url), self._api_key
        except ValueError as error:
            raise NotConfigured(f"COUNTERSIGN_URL: {error}") from None

    def _opened(self) -> str:
        """The id of this session at the desk, made there if need be.

        The desk keeps the user that it began with: for another one nothing of it is read. One that began without is
        nobody's in particular. Raises ``DeskError``.
        """
        if not self._desk_id:
            said = json.loads(self._exchange("POST", "/api/v1/sessions", self._opening))
            self._user_there = str(said.get("user_id") or "")
            self._desk_id = str(said["id"])
            self._compare_retention()
        if self.user_id and self._user_there not in ("", self.user_id):
            raise DeskError(409, f'this session is of the user "{self._user_there}", not of "{self.user_id}"')
        return self._desk_id

    def _compare_retention(self) -> None:
        """A program must not believe that its session is on hold when it is not."""
        if not self._retention:
            return
        there = self._retention_there()
        differs = sorted(name for name, value in self._retention.items() if there.get(name) != value)
        if differs:
            logger.warning("countersign: this session was there with another retention (%s)", ", ".join(differs))

    def _retention_there(self) -> Json:
        found: Json = json.loads(self._exchange("GET", f"/api/v1/sessions/{self._opened()}/retention"))
        return found

    def _prune(self, strategy: str, window_size: int | None, threshold: int | None, dry_run: bool) -> Json:
        self._settle()
        wanted = {"strategy": strategy, "window_size": window_size, "threshold": threshold, "dry_run": dry_run}
        body = json.dumps({name: value for name, value in wanted.items() if value is not None}).encode()
        done: Json = json.loads(self._exchange("POST", f"/api/v1/sessions/{self._opened()}/prune", body, PATIENCE))
        return done

    def _show_pruned(self) -> Json:
        path = f"/api/v1/sessions/{self._opened()}/show-pruned"
        shown: Json = json.loads(self._exchange("POST", path, b""))
        return shown

    def _exchange(self, method: str, path: str, body: bytes | None = None, timeout: float = PROMPT) -> bytes:
        try:
            desk, key = self._desk()
            headers = {"Authorization": f"Bearer {key}", "Accept": "application/json"}
            status, data = wire.exchange(desk, method, path, body, headers, timeout)
        except (NotConfigured, wire.Unreachable, wire.Garbled) as failed:
            raise DeskError(0, str(failed)) from None
        if status not in (200, 201):
            raise DeskError(status, data[:500].decode(errors="replace"))
        return data

    def _events(self, since: int, limit: int, kind: str | None) -> list[Json]:
        self._settle()
        found: list[Json] = []
        while len(found) < limit:
            page = self._page(since, min(PAGE, limit - len(found)), kind)["items"]
            found += page
            if len(page) < PAGE:
                break
            since = page[-1]["seq"]
        return found

    def _history(self, limit: int, role: str | None, include_pruned: bool = False) -> list[Json]:
        """From the end, a page at a time, past what is out of sight: what it costs does not grow with the session."""
        self._settle()
        gone = OutOfSight(self._out_of_sight, shows_all=include_pruned)
        found: list[Json] = []
        end = gone.before(gone.last_seq)
        size = min(max(4 * limit, 20), PAGE)
        while end > 0 and len(found) < limit:
            begin = max(end - size, 0)
            for event in reversed([row for row in self._page(begin, size)["items"] if row["seq"] <= end]):
                said_by = ROLES.get(event["kind"])
                if said_by and role in (None, said_by) and len(found) < limit and not gone.holds(event["seq"]):
                    found.append(self._said(event, said_by))
            end, size = gone.before(begin), min(2 * size, PAGE)
        if gone.summary and role in (None, "system") and len(found) < limit:
            found.append(self._said(gone.summary, "system"))
        return sorted(found, key=lambda one: one["seq"])

    def _out_of_sight(self, before: int) -> Json:
        found: Json = json.loads(self._exchange("GET", f"/api/v1/sessions/{self._opened()}/pruned?before={before}"))
        return found

    def _said(self, event: Json, role: str) -> Json:
        """A message as ``history`` answers it."""
        return {"seq": event["seq"], "role": role, "text": event["text"], "at": event["at"],
                "name": event["actor"]["name"]}  # fmt: skip

    def _page(self, after: int, limit: int, kind: str | None = None) -> Json:
        query = urlencode({"after": after, "limit": limit} | ({"kind": kind} if kind else {}))
        page = json.loads(self._exchange("GET", f"/api/v1/sessions/{self._opened()}/events?{query}"))
        if not isinstance(page, dict):
            raise DeskError(0, "what answers there is no desk")
        return page

    def _export(self, format: str) -> bytes:
        self._settle()
        path = f"/api/v1/sessions/{self._opened()}/export?format={quote(format, safe='')}"
        return self._exchange("GET", path, None, PATIENCE)


class Session(_Recorded):
    """A session of a program that may wait for the desk where it reads or asks."""

    def approve(self, tool: str, arguments: Json, **more: Any) -> Decision:
        """Ask in this session whether a call may be made, and wait: ``more`` as of ``Client.ask``.

        Never raises because of what the desk does: whatever is not a well-formed yes about this very call is no.
        """
        try:
            self._flushed(SETTLE)  # so that who decides sees what led to it
            asking = Client(self._url, self._api_key, agent=self.app_name)
            return asking.ask(tool, arguments, session=self._opened(), **more)
        except (DeskError, NotConfigured) as error:
            return Decision("failed", str(error))

    def history(
        self, limit: int = 50, role: Literal["user", "assistant", "system"] | None = None, *,
        include_pruned: bool = False,
    ) -> list[Json]:  # fmt: skip
        """The latest messages in sight, oldest first: ``{seq, role, text, at, name}``.

        Raises ``DeskError``; ``NotSent`` where the desk does not take within 5 s what this program recorded before.
        """
        return self._history(limit, role, include_pruned)

    def prune(
        self, strategy: str, window_size: int | None = None, threshold: int | None = None, *, dry_run: bool = False
    ) -> Json:
        """Take old messages out of sight: ``keep_last_50``, ``sliding_window``, ``keep_important``, ``summarize_old``.

        Answers ``{pruned, kept, rule, method, summary, …}``. The log keeps them. Raises ``DeskError``: 409 on hold.
        """
        return self._prune(strategy, window_size, threshold, dry_run)

    def show_pruned(self) -> Json:
        """Bring all that was pruned into sight again: ``{messages, events}``. For a key of the role ``reviewer``.

        The desk prunes it no more by itself, until ``prune`` or another retention. Raises ``DeskError``.
        """
        return self._show_pruned()

    def retention(self) -> Json:
        """The policy, what is due by it, and what was pruned. Raises ``DeskError``."""
        return self._retention_there()

    def events(self, since: int = 0, limit: int = 500, kind: str | None = None) -> list[Json]:
        """Events behind the ``seq`` ``since``, as the API answers them. Raises as ``history`` does."""
        return self._events(since, limit, kind)

    def export(self, format: str = "markdown") -> bytes:
        """A file of the session; a key of the role ``agent`` may not (403). Raises as ``history`` does."""
        return self._export(format)

    def flush(self, timeout: float = 30.0) -> bool:
        """Wait so many seconds until the desk has all that this process recorded; whether it has."""
        return self._flushed(timeout)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *raised: object) -> None:
        self._flushed(SETTLE)


class AsyncSession(_Recorded):
    """The same for programs that run an event loop. Recording does not wait, but with ``when_full="wait"``."""

    async def approve(self, tool: str, arguments: Json, **more: Any) -> Decision:
        """As ``Session.approve``."""
        try:
            await asyncio.to_thread(self._flushed, SETTLE)
            asking = AsyncClient(self._url, self._api_key, agent=self.app_name)
            return await asking.ask(tool, arguments, session=await asyncio.to_thread(self._opened), **more)
        except (DeskError, NotConfigured) as error:
            return Decision("failed", str(error))

    async def history(
        self, limit: int = 50, role: Literal["user", "assistant", "system"] | None = None, *,
        include_pruned: bool = False,
    ) -> list[Json]:  # fmt: skip
        """As ``Session.history``."""
        return await asyncio.to_thread(self._history, limit, role, include_pruned)

    async def prune(
        self, strategy: str, window_size: int | None = None, threshold: int | None = None, *, dry_run: bool = False
    ) -> Json:
        """As ``Session.prune``."""
        return await asyncio.to_thread(self._prune, strategy, window_size, threshold, dry_run)

    async def show_pruned(self) -> Json:
        """As ``Session.show_pruned``."""
        return await asyncio.to_thread(self._show_pruned)

    async def retention(self) -> Json:
        """As ``Session.retention``."""
        return await asyncio.to_thread(self._retention_there)

    async def events(self, since: int = 0, limit: int = 500, kind: str | None = None) -> list[Json]:
        """As ``Session.events``."""
        return await asyncio.to_thread(self._events, since, limit, kind)

    async def export(self, format: str = "markdown") -> bytes:
        """As ``Session.export``."""
        return await asyncio.to_thread(self._export, format)

    async def flush(self, timeout: float = 30.0) -> bool:
        """As ``Session.flush``."""
        return await asyncio.to_thread(self._flushed, timeout)

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.flush(SETTLE)
