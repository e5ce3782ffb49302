"""A Messages API on loopback that uses the first tool it is given, once, and then says what it was asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from countersign.doctor.loopback import serving

Json = dict[str, Any]


class UsesItsFirstTool:
    def __init__(self) -> None:
        self.requests: list[Json] = []

    @contextmanager
    def serving(self) -> Iterator[str]:
        model = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: Any) -> None:
                pass

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                model.requests.append(asked)
                body = json.dumps(model.answer(asked)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        with serving(Handler) as url:
            yield url

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
