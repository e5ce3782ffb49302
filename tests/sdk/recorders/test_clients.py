"""What the real clients of ``anthropic`` and ``openai`` are asked and answer is in the log of a real desk."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from countersign.doctor.loopback import serving

from sessions_app.models import Event, Session
from tests.sdk.adapters.libraries import PATIENCE, python_with

from ..conftest import SOURCE
from ..conversation.model import UsesItsFirstTool


@contextmanager
def models() -> Iterator[str]:
    """Both APIs; a model that is called ``nobodys`` is not there."""
    anthropic = UsesItsFirstTool()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            is_there = asked["model"] != "nobodys"
            anthropic.requests.append(asked)
            answer = completion(asked) if "completions" in self.path else anthropic.answer(asked)
            body = json.dumps(answer if is_there else {"error": {"message": "no such model"}}).encode()
            self.send_response(200 if is_there else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with serving(Handler) as url:
        yield url


def completion(asked: dict[str, Any]) -> dict[str, Any]:
    function = {"name": "find", "arguments": '{"order": "4711"}'}
    said = {"role": "assistant", "content": "At sea.",
            "tool_calls": [{"id": "c1", "type": "function", "function": function}]}  # fmt: skip
    used = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107,
            "prompt_tokens_details": {"cached_tokens": 60}}  # fmt: skip
    choice = {"index": 0, "finish_reason": "stop", "message": said}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": asked["model"], "choices": [choice],
            "usage": used}  # fmt: skip


def log(external_id: str) -> list[tuple[str, str]]:
    found = Event.objects.filter(session=Session.objects.get(external_id=external_id)).order_by("seq")
    return [(event.kind, event.text or event.tool_name or "") for event in found]


def test_what_the_clients_say_is_recorded(desk_server, agent_key, tmp_path):
    with models() as url:
        environment = {
            "PYTHONPATH": str(SOURCE), "COUNTERSIGN_URL": desk_server, "COUNTERSIGN_API_KEY": agent_key,
            "COUNTERSIGN_SPOOL": str(tmp_path), "HOME": "/nonexistent",
        }  # fmt: skip
        command = [str(python_with("model-clients")), str(Path(__file__).with_name("program.py")), url]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (0, "answer 2\nAt sea.\nnot found\n"), done.stderr
    assert done.stderr == ""
    first = log("of-anthropic")
    assert [kind for kind, _ in first] == [
        "user_message", "tool_call", "model_request", "tool_result", "agent_message", "model_request"]  # fmt: skip
    assert first[0][1] == "Where is 4711?" and first[4][1] == "answer 2"
    second = log("of-openai")
    assert [kind for kind, _ in second] == [
        "system", "user_message", "agent_message", "tool_call", "model_request", "user_message", "error"]  # fmt: skip
    session = Session.objects.get(external_id="of-openai")
    assert (session.input_tokens, session.cache_read_tokens, session.output_tokens) == (40, 60, 7)
    assert Session.objects.get(external_id="of-anthropic").input_tokens == 20
