"""What the real clients of ``anthropic`` and ``openai`` are asked and answer is in the log of a real desk."""

from __future__ import annotations

from .apis import ANSWERED, PLAIN, READS
from .conftest import HERE
from .reading import ASKED, CALL, PART, SAID, USED, USED_TOOL, counted, is_broken_off, log


def test_what_the_clients_say_is_recorded(recorded):
    printed = recorded("model-clients", str(HERE / "program.py"))
    assert printed.splitlines() == [
        "At sea.", "cut True", "left after At ", "At sea.", "not found", "At sea.", "At sea.", "cut", "At sea."
    ]  # fmt: skip
    for name in ("messages", "messages streamed", "messages async", "responses"):
        assert log(name) == USED_TOOL, name
        assert counted(name) == (2 * PLAIN, 2 * READS, 2 * ANSWERED), name
    assert [kind for kind, _ in log("messages cut")] == ["user_message", "agent_message", "model_request", "error"]
    assert log("messages closed") == log("messages dropped") == [ASKED, PART, USED]
    assert counted("messages closed") == (PLAIN, READS, 1)  # what the API had said until then
    assert [kind for kind, _ in log("completions")] == [
        "system", "user_message", "agent_message", "model_request", "user_message", "error"]  # fmt: skip
    assert counted("completions") == (PLAIN, READS, ANSWERED)
    assert log("completions streamed") == [ASKED, CALL, USED, ASKED, SAID, USED]
    assert counted("completions streamed") == (2 * PLAIN, 2 * READS, 2 * ANSWERED)
    assert [kind for kind, _ in log("responses cut")] == ["user_message", "agent_message", "error"]
    assert log("responses async") == [ASKED, PART]
    for name in ("messages cut", "messages closed", "messages dropped", "responses cut", "responses async"):
        assert is_broken_off(name), name
