"""A tool call on one line."""

from __future__ import annotations

from typing import Any

import pytest

from sessions_app.rendering import toolline


@pytest.mark.parametrize(
    ("name", "arguments", "line"),
    [
        ("Bash", {"command": "git status\nls", "description": "look"}, ("terminal", "run", "git status")),
        ("shell", {"command": ["bash", "-lc", "ls -la"]}, ("terminal", "run", "ls -la")),
        ("exec_command", {"cmd": "make"}, ("terminal", "run", "make")),
        ("Read", {"file_path": "/etc/hosts", "offset": 3}, ("file", "read", "/etc/hosts", "/etc/hosts")),
        ("str_replace_editor", {"command": "create", "path": "/a"}, ("pencil", "edit", "/a", "/a")),
        ("Grep", {"path": "/src", "pattern": "TODO.*"}, ("search", "search", "TODO.*")),
        ("WebFetch", {"prompt": "sum up", "url": "https://a.example"}, ("globe", "fetch", "https://a.example")),
        ("http_request", {"url": "https://a.example", "method": "post"}, ("globe", "POST", "https://a.example")),
        ("http_request", {"url": "https://a.example", "method": "GET"}, ("globe", "fetch", "https://a.example")),
        ("WebSearch", {"query": "tea"}, ("globe", "search the web", "tea")),
        ("Task", {"description": "review", "prompt": "long"}, ("agent", "ask an agent", "review")),
        ("TodoWrite", {"todos": []}, ("list", "plan", "")),
        ("TodoWrite", {"todos": [{"content": "Read", "status": "completed"}, {"content": "Mend", "status": "pending"}]},
            ("list", "plan", "1/2 · Mend")),
        ("update_plan", {"plan": [{"step": "Read", "status": "pending"}, {"step": "Mend", "status": "in_progress"}]},
            ("list", "plan", "0/2 · Mend")),
        ("TodoWrite", {"todos": [{"content": "Read", "status": "completed"}]}, ("list", "plan", "1/1")),
        ("TodoWrite", {"todos": [3, {"content": 4, "status": [5]}]}, ("list", "plan", "0/1")),
        ("mcp__orders__refund", {"order": 4711, "amount": 9}, ("plug", "orders › refund", "order=4711 amount=9")),
        ("lookup_shipment", {"order": 4711}, ("tool", "lookup_shipment", "order=4711")),
        ("escalate_to_human", {"question": "Half?", "context": {}}, ("agent", "ask a person", "Half?")),
        (None, None, ("tool", "unnamed tool", "")),
    ],
)  # fmt: skip
def test_a_call_says_what_a_person_would_ask(name: str | None, arguments: Any, line: tuple[str, ...]) -> None:
    assert toolline.describe_call(name, arguments) == toolline.ToolLine(*line)


def test_a_server_makes_it_a_plug() -> None:
    assert toolline.describe_call("query", {"sql": "select 1"}, "db").icon == "plug"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"text": "a\nb\n", "status": "ok"}, "2 lines"),
        ({"text": "done", "status": "ok"}, "done"),
        ({"text": "a\nb\n", "size": 2_900_000}, "2.9 MB"),
        ({"text": "", "status": None}, ""),
        ({"text": "", "status": "denied"}, "denied"),
        ({"text": "", "result": {"exitCode": 0}, "status": "ok"}, ""),
        ({"text": "boom", "result": {"metadata": {"exit_code": 2}}, "status": "error"}, "error · exit 2 · boom"),
        ({"text": "Exit code 127\nnot found", "status": "error"}, "error · exit 127 · 2 lines"),
        (
            {"text": "", "name": "Edit", "arguments": {"file_path": "/a", "old_string": "a", "new_string": "b\nc"}},
            "+2 −1",
        ),
    ],
)
def test_a_glance_says_what_came_of_it(given: dict[str, Any], said: str) -> None:
    assert toolline.glance(**given) == said


@pytest.mark.parametrize(
    "value", [None, True, 7, 1.5, "x" * 9_000, "\u202e\x1b[31m", [], [[]], {}, {"a": {"b": []}}, ["a", 1]]
)
def test_no_value_raises_or_makes_a_long_line(value: Any) -> None:
    for name in ("Bash", "Read", "unknown", "TodoWrite", ""):
        for arguments in (value, {"command": value, "file_path": value, "x": value}):
            line = toolline.describe_call(name, arguments)
            assert len(line.subject) <= toolline.MAX_SUBJECT
            assert "\u202e" not in line.subject
            assert isinstance(toolline.glance("", value, None, name=name, arguments=arguments), str)


@pytest.mark.parametrize(
    ("name", "verb"),
    [
        ("mcp__github__create_issue", "github › create_issue"),
        ("__proto__", "__proto__"),
        ("__init__", "__init__"),
        ("a__b", "a › b"),
    ],
)
def test_underscores_around_a_name_are_its_own(name, verb):
    assert toolline.describe_call(name, {}).verb == verb


SENTENCE = "Approved by Ada · signature verified"


@pytest.mark.parametrize(
    ("name", "verb"),
    [
        (SENTENCE, f"“{SENTENCE}”"), ("a” decided: “approved", '“a" decided: "approved”'), ("pay\napproved", "“pay”"),
        ("issue_refund", "issue_refund"), ("mcp__shop__pay-now", "shop › pay-now"), ("überweisen", "überweisen"),
        ("ask a person", "“ask a person”"), ("", "unnamed tool"), (" ", "unnamed tool"),
    ],
)  # fmt: skip
def test_the_name_of_a_tool_that_could_be_a_sentence_stands_in_quotes(name, verb):
    assert toolline.describe_call(name, {}).verb == verb
