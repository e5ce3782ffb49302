"""The three APIs of models on loopback, whole and streamed, each with its tokens as the real one says them.

A model that is given a tool and no result of it calls it; else it says ``At sea.`` One called ``nobodys`` is not there,
and of one called ``breaks`` the connection is cut before the last pieces.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from countersign.doctor.loopback import serving

Json = dict[str, Any]
SAID = ["At ", "sea."]
ARGUMENTS = '{"order": "4711"}'
WRITES, READS, PLAIN, ANSWERED = 20, 60, 40, 7
"""Tokens of the input: written to the cache, read from it, neither; tokens of the output."""
INPUT = PLAIN + READS
"""What OpenAI calls the tokens of the input."""


@contextmanager
def apis() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if asked["model"] == "nobodys":
                return self._answer(404, {"error": {"message": "no such model", "type": "not_found_error"}})
            tool = wanted(asked)
            path = self.path.partition("?")[0]
            if path.endswith("/messages"):
                whole, pieces = message(asked, tool), messages_pieces
            elif path.endswith("/completions"):
                whole, pieces = completion(asked, tool), completion_pieces
            else:
                whole, pieces = response(asked, tool), response_pieces
            if asked.get("stream"):
                self._stream(list(pieces(whole, asked)), asked["model"] == "breaks")
            else:
                self._answer(200, whole)

        def _answer(self, status: int, said: Json) -> None:
            body = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _stream(self, pieces: list[Json], breaks: bool) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for piece in pieces[:-4] if breaks else pieces:
                name = f"event: {piece['type']}\n" if "type" in piece else ""
                self._chunk(f"{name}data: {json.dumps(piece)}\n\n".encode())
            if breaks:
                self.close_connection = True
            else:
                if "type" not in pieces[0]:
                    self._chunk(b"data: [DONE]\n\n")
                self._chunk(b"")

        def _chunk(self, data: bytes) -> None:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    with serving(Handler) as url:
        yield url


def wanted(asked: Json) -> str | None:
    """The name of the tool that is called next."""
    tools = asked.get("tools")
    if not tools or "tool_result" in json.dumps(asked) or "function_call_output" in json.dumps(asked):
        return None
    if any(message.get("role") == "tool" for message in asked.get("messages", ())):
        return None
    return str(tools[0].get("name") or tools[0]["function"]["name"])


def message(asked: Json, tool: str | None) -> Json:
    said: Json = {"type": "text", "text": "".join(SAID)}
    if tool:
        said = {"type": "tool_use", "id": "c1", "name": tool, "input": json.loads(ARGUMENTS)}
    used = {"input_tokens": PLAIN, "cache_read_input_tokens": READS, "cache_creation_input_tokens": WRITES,
            "output_tokens": ANSWERED}  # fmt: skip
    return {"id": f"msg_{len(asked['messages'])}", "type": "message", "role": "assistant", "model": asked["model"],
            "content": [said], "stop_reason": "tool_use" if tool else "end_turn", "stop_sequence": None,
            "usage": used}  # fmt: skip


def messages_pieces(whole: Json, asked: Json) -> Iterator[Json]:
    yield {"type": "message_start", "message": whole | {
        "content": [], "stop_reason": None, "usage": whole["usage"] | {"output_tokens": 1}}}  # fmt: skip
    [block] = whole["content"]
    empty, kind, name = ({"text": ""}, "text_delta", "text")
    parts = SAID
    if block["type"] == "tool_use":
        empty, kind, name = ({"input": {}}, "input_json_delta", "partial_json")
        parts = [ARGUMENTS[:5], ARGUMENTS[5:]]
    yield {"type": "content_block_start", "index": 0, "content_block": block | empty}
    yield {"type": "ping"}
    for part in parts:
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": kind, name: part}}
    yield {"type": "content_block_stop", "index": 0}
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": whole["usage"]}
    yield {"type": "message_stop"}


def completion(asked: Json, tool: str | None) -> Json:
    said: Json = {"role": "assistant", "content": None if tool else "".join(SAID)}
    if tool:
        said["tool_calls"] = [{"id": "c1", "type": "function", "function": {"name": tool, "arguments": ARGUMENTS}}]
    used = {"prompt_tokens": INPUT, "completion_tokens": ANSWERED, "total_tokens": INPUT + ANSWERED,
            "prompt_tokens_details": {"cached_tokens": READS}}  # fmt: skip
    choice = {"index": 0, "finish_reason": "tool_calls" if tool else "stop", "message": said}
    return {"id": f"x{len(asked['messages'])}", "object": "chat.completion", "created": 1, "model": asked["model"],
            "choices": [choice], "usage": used}  # fmt: skip


def completion_pieces(whole: Json, asked: Json) -> Iterator[Json]:
    same = {"id": whole["id"], "object": "chat.completion.chunk", "created": 1, "model": whole["model"]}
    [choice] = whole["choices"]
    deltas: list[Json] = [{"role": "assistant", "content": ""}]
    for call in choice["message"].get("tool_calls", ()):
        function = call["function"]
        deltas += [{"tool_calls": [{"index": 0} | call | {"function": function | {"arguments": ""}}]}]
        deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": part}}]} for part in
                   (ARGUMENTS[:5], ARGUMENTS[5:])]  # fmt: skip
    deltas += [{"content": part} for part in SAID if choice["message"]["content"]]
    for delta in deltas:
        yield same | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield same | {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    if (asked.get("stream_options") or {}).get("include_usage"):
        yield same | {"choices": [], "usage": whole["usage"]}


def response(asked: Json, tool: str | None) -> Json:
    item: Json = {"type": "message", "id": "m1", "role": "assistant", "status": "completed",
                  "content": [{"type": "output_text", "text": "".join(SAID), "annotations": []}]}  # fmt: skip
    if tool:
        item = {"type": "function_call", "id": "fc1", "call_id": "c1", "name": tool, "arguments": ARGUMENTS,
                "status": "completed"}  # fmt: skip
    used = {"input_tokens": INPUT, "input_tokens_details": {"cached_tokens": READS}, "output_tokens": ANSWERED,
            "output_tokens_details": {"reasoning_tokens": 3}, "total_tokens": INPUT + ANSWERED}  # fmt: skip
    return {"id": f"r{len(asked['input'])}", "object": "response", "created_at": 1, "model": asked["model"],
            "status": "completed", "output": [item], "usage": used, "error": None, "incomplete_details": None,
            "instructions": None, "metadata": {}, "parallel_tool_calls": True, "tool_choice": "auto",
            "tools": []}  # fmt: skip


def response_pieces(whole: Json, asked: Json) -> Iterator[Json]:
    for number, piece in enumerate(_unnumbered(whole)):
        yield piece | {"sequence_number": number}


def _unnumbered(whole: Json) -> Iterator[Json]:
    yield {"type": "response.created", "response": whole | {"status": "in_progress", "output": [], "usage": None}}
    [item] = whole["output"]
    place = {"item_id": item["id"], "output_index": 0}
    if item["type"] == "message":
        yield {"type": "response.output_item.added", "output_index": 0, "item": item | {"content": []}}
        part = item["content"][0]
        yield place | {"type": "response.content_part.added", "content_index": 0, "part": part | {"text": ""}}
        for said in SAID:
            yield place | {"type": "response.output_text.delta", "content_index": 0, "delta": said, "logprobs": []}
        yield place | {"type": "response.output_text.done", "content_index": 0, "text": part["text"], "logprobs": []}
        yield place | {"type": "response.content_part.done", "content_index": 0, "part": part}
    else:
        yield {"type": "response.output_item.added", "output_index": 0, "item": item | {"arguments": ""}}
        yield place | {"type": "response.function_call_arguments.delta", "delta": ARGUMENTS}
        yield place | {"type": "response.function_call_arguments.done", "arguments": ARGUMENTS, "name": item["name"]}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": whole}
