"""The two model APIs that the coding agents talk to, on loopback: each asks for the tool calls of a script, then ends.

Faithful where the clients look: the Messages API and the Responses API as streams of server-sent events, with the tool
calls in pieces, and the result of each call read back from the next request. Everything else they ask is a 404.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from .loopback import serving

Json = dict[str, Any]
Call = tuple[str, Json]
"""Name and arguments of a tool."""


class ModelApis:
    """``steps``: the calls of each answer in turn; when they are used up the model says that it is done.

    How far a conversation is follows from the results in the request, so that a resumed one goes on where it was.
    """

    def __init__(self, *steps: list[Call]) -> None:
        self.steps = list(steps)
        self.requests: list[Json] = []
        self.url = ""

    @contextmanager
    def serving(self) -> Iterator[ModelApis]:
        apis = self

        class Handler(_Handler):
            of = apis

        with serving(Handler) as self.url:
            yield self

    def results(self) -> list[str]:
        """What the model was told of its calls, in the last request, as texts."""
        return [text for _, text in results_of(self.requests[-1])] if self.requests else []

    def calls_after(self, answered: set[str]) -> list[tuple[str, str, Json]]:
        """Id, name and arguments of the calls that come next: those of the first step that has no results yet."""
        for number, step in enumerate(self.steps):
            named = [(f"toolu_{number}_{place}", name, given) for place, (name, given) in enumerate(step)]
            if not answered >= {id_ for id_, _, _ in named}:
                return named
        return []


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    of: ModelApis

    def log_message(self, *args: Any) -> None:
        """Tests are quiet."""

    def do_GET(self) -> None:
        self._answer(404, b'{"type": "error", "error": {"type": "not_found_error", "message": "Not found"}}')

    do_HEAD = do_GET

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition("?")[0]
        if path not in ("/v1/messages", "/v1/responses"):
            self.do_GET()
            return
        asked = json.loads(body)
        self.of.requests.append(asked)
        calls = self.of.calls_after({id_ for id_, _ in results_of(asked)}) if asked.get("tools") else []
        id_ = f"msg_{len(self.of.requests)}"
        frames = messages_frames(calls, id_) if path == "/v1/messages" else responses_frames(calls)
        stream = "".join(f"event: {frame['type']}\ndata: {json.dumps(frame)}\n\n" for frame in frames)
        self._answer(200, stream.encode(), "text/event-stream")

    def _answer(self, status: int, body: bytes, media_type: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("content-type", media_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def results_of(asked: Json) -> list[tuple[str, str]]:
    """Id and text of each tool result in a request, of either API."""
    found = [
        (block["tool_use_id"], block.get("content"))
        for message in asked.get("messages", ())
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    found += [
        (item["call_id"], item["output"])
        for item in asked.get("input", ())
        if item.get("type", "").endswith("call_output")
    ]
    return [(id_, said if isinstance(said, str) else json.dumps(said)) for id_, said in found]


def messages_frames(calls: list[tuple[str, str, Json]], message_id: str) -> Iterator[Json]:
    """The events of a response of the Messages API."""
    message: Json = {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": [],
    }
    usage = {"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1}
    yield {"type": "message_start", "message": message | {"stop_reason": None, "stop_sequence": None, "usage": usage}}
    said = "I will do that." if calls else "Done."
    blocks: list[tuple[Json, Json]] = [({"type": "text", "text": ""}, {"type": "text_delta", "text": said})]
    for id_, name, given in calls:
        piece = {"type": "input_json_delta", "partial_json": json.dumps(given)}
        blocks.append(({"type": "tool_use", "id": id_, "name": name, "input": {}}, piece))
    for index, (block, delta) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 20}}
    yield {"type": "message_stop"}


def responses_frames(calls: list[tuple[str, str, Json]]) -> Iterator[Json]:
    """The events of a response of the Responses API."""
    response: Json = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": response}
    items: list[Json] = [
        {"type": "function_call", "id": f"fc_{id_}", "call_id": id_, "name": name, "arguments": json.dumps(given)}
        for id_, name, given in calls
    ]
    if not items:
        text = {"type": "output_text", "text": "Done.", "annotations": []}
        items = [{"type": "message", "id": "msg_1", "role": "assistant", "content": [text]}]
    for index, item in enumerate(items):
        yield {"type": "response.output_item.added", "output_index": index, "item": item}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    yield {
        "type": "response.completed",
        "response": response | {"status": "completed", "output": items, "usage": usage},
    }
