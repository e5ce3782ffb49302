"""The gateway in this process, between a client and a server that a test plays."""

from __future__ import annotations

import io
import json
import queue
from collections.abc import Callable
from typing import Any

from countersign.client import Client
from countersign.mcp.gateway import Gateway
from countersign.mcp.messages import CAPABILITIES, TASKS, VERSION

Json = dict[str, Any]
PATIENCE = 60
TOOL = {"name": "refund", "description": "Pay money back.", "inputSchema": {"type": "object"}}
META = {VERSION: "2026-07-28", CAPABILITIES: {}}
TASK_META = {VERSION: "2026-07-28", CAPABILITIES: {"extensions": {TASKS: {}}}}
PAID = {"content": [{"type": "text", "text": "Paid."}], "isError": False, "resultType": "complete"}


class Shop:
    """A server: what it was asked, and what it answers to a call (None: nothing)."""

    def __init__(self, place: str) -> None:
        self.name, self.place = "shop", place
        self.tools: list[Json] = [TOOL]
        self.calls: list[Json] = []
        self.told: list[Json] = []
        self.answers: Callable[[Json], Json | None] = lambda params: PAID
        self.deliver: Callable[[bytes], None] = lambda line: None

    def attach(self, deliver: Callable[[bytes], None]) -> None:
        self.deliver = deliver

    def send(self, message: Json, headers: dict[str, str] | None = None) -> None:
        if message.get("method") == "tools/list":
            self.say(id=message["id"], result={"tools": self.tools})
        elif message.get("method") == "tools/call":
            self.calls.append(message["params"] | {"id": message["id"]})
            if (result := self.answers(message["params"])) is not None:
                self.say(id=message["id"], result=result)
        else:
            self.told.append(message)

    def say(self, **message: Any) -> None:
        self.deliver(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def run(self) -> int:
        return 0

    def close(self) -> None:
        """Nothing is open."""


class _Heard(io.BytesIO):
    def __init__(self) -> None:
        super().__init__()
        self.messages: queue.SimpleQueue[Json] = queue.SimpleQueue()

    def write(self, line: Any) -> int:
        self.messages.put(json.loads(line))
        return len(line)


class Driven:
    """``says``: of the client; ``next``: what it is told next."""

    def __init__(
        self, desk: str, key: str = "cs_test", *, hold: float = 10, patience: float = 0, place: str = "python shop.py"
    ) -> None:
        self.shop, self._heard = Shop(place), _Heard()
        client = Client(desk, key, agent="Refund agent")
        self.gateway = Gateway(client, self.shop, self._heard, name="shop", hold=hold, patience=patience)

    def says(self, message: Json) -> None:
        self.gateway.receive(json.dumps({"jsonrpc": "2.0"} | message).encode())

    def asks(self, method: str, params: Json, id_: int = 9) -> Json:
        """The answer to a request; nothing else may be said meanwhile."""
        self.says({"id": id_, "method": method, "params": params})
        return self.next()

    def calls(self, id_: int = 1, *, meta: Json = META, amount: int = 40, **more: Any) -> None:
        params = {"name": "refund", "arguments": {"amount": amount}, "_meta": meta} | more
        self.says({"id": id_, "method": "tools/call", "params": params})

    def next(self) -> Json:
        return self._heard.messages.get(timeout=PATIENCE)

    @property
    def hears_nothing(self) -> bool:
        return self._heard.messages.empty()

    @property
    def ran(self) -> list[Json]:
        """The arguments of the calls that reached the server."""
        return [call["arguments"] for call in self.shop.calls]
