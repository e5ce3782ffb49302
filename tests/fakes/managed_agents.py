"""A Managed Agents API on loopback: strict, scripted, and able to misbehave. For the real SDK to talk to.

It refuses what the real one refuses, with the same status and, where they are known, the same words. What it cannot
do: sandboxes, files, vaults, deployments, memory stores, self-hosted workers, webhooks, outcomes.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from .loopback import Server
from .managed_agents_errors import ApiError, bad, new_id, page_of, within
from .managed_agents_session import CUT, CUT_IN_A_FRAME, END, FakeSession
from .managed_agents_world import World

BETA = "managed-agents-2026-04-01"
KEY = "sk-ant-test-0001"
T = TypeVar("T")
FRAME_NAMES = ("agent.message", "agent.thinking")


@dataclass
class Fault:
    """The next request whose ``METHOD path`` contains ``match`` fails so. ``after``: it is carried out first."""

    match: str
    status: int = 500
    kind: str = "api_error"
    message: str = "internal error"
    headers: dict[str, str] | None = None
    after: bool = False
    hang: float = 0.0
    """Seconds without an answer."""


class Broken(Exception):
    """Ends a response without its end, as a connection that is cut does."""


class FakeManagedAgents:
    """The server. Tests give scripts to ``world``, set ``switches``, queue ``faults`` and read ``requests``."""

    def __init__(self) -> None:
        self.world = World()
        self.switches = self.world.switches
        self.faults: list[Fault] = []
        self.requests: list[str] = []
        """``METHOD path`` of each request that came."""
        self.base_url = ""
        self.loop: asyncio.AbstractEventLoop | None = None

    @property
    def session(self) -> FakeSession:
        """The only session, or the newest."""
        return list(self.world.sessions.values())[-1]

    def do(self, action: Callable[[], T]) -> T:
        """Something that a person does elsewhere, in the server's loop."""

        async def run() -> T:
            return action()

        assert self.loop is not None
        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(10)

    @contextmanager
    def serving(self) -> Iterator[FakeManagedAgents]:
        listener = socket.create_server(("127.0.0.1", 0))
        self.base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        config = uvicorn.Config(
            self._app(), log_config=None, log_level="critical", lifespan="off", timeout_graceful_shutdown=0
        )
        server = Server(config)
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        started = threading.Event()

        def serve() -> None:
            async def main() -> None:
                self.loop = asyncio.get_running_loop()
                started.set()
                await server.serve(sockets=[listener])

            asyncio.run(main())

        thread = threading.Thread(target=serve, name="fake-managed-agents")
        thread.start()
        started.wait(60)
        try:
            yield self
        finally:
            server.should_exit = True
            self.do(lambda: [session.cut_streams(half=False) for session in self.world.sessions.values()])
            thread.join(60)
            listener.close()

    # --- HTTP ---

    def _app(self) -> Starlette:
        one, two = "/v1/sessions/{id}", "/v1/sessions/{id}/threads/{thread}"
        routes: list[tuple[str, str, Callable[..., Any]]] = [
            ("POST", "/v1/agents", lambda r, b: self.world.create_agent(b)),
            ("GET", "/v1/agents", lambda r, b: self.world.list_agents(r.query_params)),
            ("GET", "/v1/agents/{id}", lambda r, b: self.world.agent(_id(r), r.query_params.get("version"))),
            ("POST", "/v1/agents/{id}", lambda r, b: self.world.update_agent(_id(r), b)),
            ("POST", "/v1/agents/{id}/archive", lambda r, b: self.world.archive_agent(_id(r))),
            ("GET", "/v1/agents/{id}/versions", lambda r, b: self.world.versions(_id(r), r.query_params)),
            ("POST", "/v1/environments", lambda r, b: self.world.create_environment(b)),
            ("GET", "/v1/environments", lambda r, b: page_of(list(self.world.environments.values()), r.query_params)),
            ("GET", "/v1/environments/{id}", lambda r, b: self.world.environment(_id(r))),
            ("POST", "/v1/sessions", lambda r, b: self.world.create_session(b)),
            ("GET", "/v1/sessions", lambda r, b: self.world.list_sessions(r.query_params)),
            ("GET", one, lambda r, b: self._session(r).as_json()),
            ("POST", one, lambda r, b: self._session(r).update(b)),
            ("DELETE", one, lambda r, b: self._session(r).delete()),
            ("POST", f"{one}/archive", lambda r, b: self._session(r).archive()),
            ("GET", f"{one}/events", lambda r, b: self._events(r)),
            ("POST", f"{one}/events", lambda r, b: {"data": self._session(r).receive(b)}),
            ("GET", f"{one}/events/stream", lambda r, b: self._stream(r)),
            ("GET", f"{one}/threads", lambda r, b: page_of(self._session(r).threads_json(), r.query_params)),
            ("GET", f"{two}/events", lambda r, b: self._thread_events(r)),
        ]
        return Starlette(routes=[Route(path, self._door(act), methods=[method]) for method, path, act in routes])

    def _door(self, act: Callable[[Request, Any], Any]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            self.requests.append(f"{request.method} {request.url.path}")
            fault = self._fault(request)
            try:
                self._admit(request)
                if fault and not fault.after:
                    raise await _failing(fault)
                answer = act(request, await _body(request))
                if fault:
                    raise await _failing(fault)
            except ApiError as error:
                return _refusal(error)
            return (
                answer if isinstance(answer, Response) else JSONResponse(answer, headers={"request-id": new_id("req")})
            )

        return endpoint

    def _fault(self, request: Request) -> Fault | None:
        line = f"{request.method} {request.url.path}"
        found = next((fault for fault in self.faults if fault.match in line), None)
        if found:
            self.faults.remove(found)
        return found

    def _admit(self, request: Request) -> None:
        given = request.headers.get("x-api-key") or request.headers.get("authorization", "").removeprefix("Bearer ")
        if not given:
            raise ApiError(401, "authentication_error", "authentication is required")
        if given != KEY:
            raise ApiError(401, "authentication_error", "invalid x-api-key")
        if BETA not in request.headers.get("anthropic-beta", "").split(","):
            raise ApiError(404, "not_found_error", "Not found")

    def _session(self, request: Request) -> FakeSession:
        return self.world.session(_id(request))

    def _events(self, request: Request) -> dict[str, Any]:
        return page_of(_filtered(self._session(request).events, request), request.query_params, limit=1000)

    def _thread_events(self, request: Request) -> dict[str, Any]:
        session, thread = self._session(request), request.path_params["thread"]
        if thread != session.primary and thread not in session.threads:
            raise ApiError(404, "not_found_error", f"thread {thread} not found")
        events = session.events if thread == session.primary else session.threads[thread]["events"]
        return page_of(_filtered(events, request), request.query_params, limit=1000)

    def _stream(self, request: Request) -> Response:
        session = self._session(request)
        wanted = request.query_params.getlist("event_deltas[]")
        if unknown := set(wanted) - set(FRAME_NAMES):
            raise bad(f"event_deltas: {sorted(unknown)[0]} cannot be previewed")
        queue: asyncio.Queue[Any] = asyncio.Queue()
        session.streams.append((queue, set(wanted)))
        headers = {"request-id": new_id("req")}
        return StreamingResponse(self._frames(session, queue), media_type="text/event-stream", headers=headers)

    async def _frames(self, session: FakeSession, queue: asyncio.Queue[Any]) -> AsyncIterator[bytes]:
        yield b": connected\n\n"
        while True:
            try:
                event = await asyncio.wait_for(queue.get(), self.switches.ping)
            except TimeoutError:
                yield b'event: ping\ndata: {"type": "ping"}\n\n'
                continue
            if event is END:
                return
            if event is CUT_IN_A_FRAME:
                yield b'event: agent.message\ndata: {"id": "sevt_half", "type": "agent.mes'
            if event in (CUT, CUT_IN_A_FRAME):
                await asyncio.sleep(0.01)  # what was written has to leave first
                raise Broken
            name = b"" if self.switches.drop_event_line else f"event: {event['type']}\n".encode()
            yield name + b"data: " + json.dumps(event).encode() + b"\n\n"


def _id(request: Request) -> str:
    return request.path_params["id"]


def _filtered(events: list[dict[str, Any]], request: Request) -> list[dict[str, Any]]:
    """Queued events have no time yet and stand last."""
    kinds = request.query_params.getlist("types[]")
    rows = [event for event in events if (not kinds or event["type"] in kinds)]
    rows = [event for event in rows if within(event["processed_at"], request.query_params)]
    return sorted(rows, key=lambda event: event["processed_at"] is None)


async def _body(request: Request) -> Any:
    raw = await request.body()
    try:
        return json.loads(raw) if raw else {}
    except ValueError:
        raise bad("the request body is not valid JSON") from None


async def _failing(fault: Fault) -> ApiError:
    await asyncio.sleep(fault.hang)
    error = ApiError(fault.status, fault.kind, fault.message)
    error.headers = fault.headers or {}
    return error


def _refusal(error: ApiError) -> Response:
    id_ = new_id("req")
    body = {"type": "error", "error": {"type": error.kind, "message": error.message}, "request_id": id_}
    return JSONResponse(body, status_code=error.status, headers={"request-id": id_} | error.headers)
