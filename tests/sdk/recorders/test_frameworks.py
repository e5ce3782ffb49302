"""What agents of LangChain, the OpenAI Agents SDK and Pydantic AI do is in the log of a real desk."""

from __future__ import annotations

import re

import pytest

from sessions_app.models import Event
from tests.places import DOCS

from .apis import ANSWERED, PLAIN, READS
from .conftest import HERE
from .reading import ASKED, CALL, PART, SAID, USED, USED_TOOL, counted, is_broken_off, log

PROGRAMS = re.findall(r"```python\n(.+?)```", (DOCS / "recorders.md").read_text(), re.S)
LIBRARIES = ["model-clients", "recorded-langchain", "openai-agents", "recorded-pydantic-ai"]


def used_a_tool(*names: str) -> None:
    for name in names:
        assert log(name) == USED_TOOL, name
        assert counted(name) == (2 * PLAIN, 2 * READS, 2 * ANSWERED), name
        ids = Event.objects.filter(session__external_id=name, kind__in=("tool_call", "tool_result"))
        assert {event.call_id for event in ids} == {"c1"}, name


def test_langchain(recorded):
    printed = recorded("recorded-langchain", str(HERE / "on_langchain.py"))
    assert printed.splitlines() == ["At sea.", "refused", "failed", "True"]
    used_a_tool("invoked", "streamed")
    assert log("left") == [ASKED, PART] and is_broken_off("left")
    assert [kind for kind, _ in log("refused")] == ["user_message", "error"]
    assert log("failed") == [CALL, ("tool_result", "ValueError: there is no such order")]


def test_openai_agents(recorded):
    printed = recorded("openai-agents", str(HERE / "on_openai_agents.py"))
    assert printed.splitlines() == ["At sea."] * 4 + ["refused"]
    used_a_tool("responses", "responses streamed", "completions", "completions streamed")
    assert [kind for kind, _ in log("refused")] == ["error"]


def test_pydantic_ai(recorded):
    printed = recorded("recorded-pydantic-ai", str(HERE / "on_pydantic_ai.py"))
    assert printed.splitlines() == ["At sea."] * 5 + ["left after 'At '", "refused"]
    used_a_tool("messages", "messages streamed", "responses", "responses streamed")
    assert log("left") == [ASKED, PART, USED] and is_broken_off("left")
    assert counted("left") == (PLAIN, READS, 1)
    assert [kind for kind, _ in log("failed")] == [kind for kind, _ in USED_TOOL]
    assert [kind for kind, _ in log("refused")] == ["user_message", "error"]


@pytest.mark.parametrize("number", range(len(LIBRARIES)))
def test_the_programs_of_the_page(recorded, number):
    assert recorded(LIBRARIES[number], "-c", PROGRAMS[number]) == "At sea.\n"
    assert log("refund-4713")[0] == ASKED and SAID in log("refund-4713")
    assert len(PROGRAMS) == len(LIBRARIES)
