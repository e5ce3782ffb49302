"""The definition that docs/agents.md shows is one that runs."""

from __future__ import annotations

import json
import re

import pytest

from sessions_app.runtimes.tools import entries
from tests.fakes.messages_api import call, text
from tests.places import DOCS

from .conftest import say, work
from .local import event, texts

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = (DOCS / "agents.md").read_text()


def block(language: str) -> str:
    return re.search(rf"```{language}\n(.+?)```", PAGE, re.DOTALL)[1]


def test_every_tool_of_the_page_is_understood():
    definition = json.loads(block("json"))
    told, problems = entries.read(definition["tools"])
    assert problems == []
    assert {entry.type for entry in told} == set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    for entry in told:
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{entry.type}` |"))
        assert set(re.findall(r"`(\w+)`", row)) >= set(type(entry).model_fields) - {"type"}


def test_the_agent_of_the_page_runs_with_the_function_of_the_page(make_session, api, install_tools, shop):
    definition = json.loads(block("json"))
    installed = install_tools(block("python"), re.search(r"(\w+) = \"my_tools", block("toml"))[1])
    definition["tools"][0] = {"type": "mcp", "server": "shop", "url": shop.url}
    session = make_session(definition.pop("name"), **definition)
    api.says(call(installed, country="DE"), call("shop__orders"))
    api.says(text("4.90 euros."))
    say(session, "What is the postage?")
    work(session)
    assert session.status == "idle"
    assert texts(session, "tool_result") == ['{"euros":4.9}', '2 orders\n{"orders":[1,2]}']
    assert "command is not among COUNTERSIGN_MCP_COMMANDS" in event(session, "error").text
    assert api.requests[0]["max_tokens"] == 16_000
