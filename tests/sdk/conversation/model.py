"""Models behind their APIs, on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from countersign.doctor.loopback import serving

Json = dict[str, Any]


class OnLoopback:
    """Answers each post with what ``answer`` makes of its body."""

    status = 200

    def __init__(self) -> None:
        self.requests: list[Json] = []

    def answer(self, asked: Json) -> Json:
        raise NotImplementedError

    @contextmanager
    def serving(self) -> Iterator[str]:
        model = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: Any) -> None:
                pass

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                model.requests.append(asked | {"path": self.path, "key": self.headers["Authorization"]})
                body = json.dumps(model.answer(asked)).encode()
                self.send_response(model.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        with serving(Handler) as url:
            yield url


class KnowsAnimals(OnLoopback):
    """An API of embeddings to which all cats are one thing and everything else another."""

    def answer(self, asked: Json) -> Json:
        is_cat = any(word in asked["input"].lower() for word in ("cat", "kitten"))
        return {"data": [{"index": 0, "embedding": [1.0, 0.1] if is_cat else [0.1, 1.0]}], "model": asked["model"]}


class UsesItsFirstTool(OnLoopback):
    """A Messages API that uses the first tool it is given, once, and then says what it was asked."""

    def answer(self, asked: Json) -> Json:
        last, number = asked["messages"][-1]["content"], len(self.requests)
        if asked.get("tools") and isinstance(last, str):
            tool = asked["tools"][0]["name"]
            content = [{"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": {}}]
        else:
            content = [{"type": "text", "text": f"answer {number}"}]
        return {
            "id": f"msg_{number}", "type": "message", "role": "assistant", "model": asked["model"], "content": content,
            "stop_reason": "end_turn", "usage": {"input_tokens": 10, "output_tokens": 2},
        }  # fmt: skip
