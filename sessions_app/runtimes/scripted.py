"""An agent without a model: it does what the message says, the same each time. For the demo and the tests.

A message is a script, one step a line; lines that are no command are said back:

``/tool NAME {JSON}``   calls a tool (of the server S with ``/tool S/NAME``); as its policy says
``/ask QUESTION``       asks a person
``/think TEXT``         reasons
``/wait SECONDS``       takes longer
``/fail TEXT``          fails
"""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from typing import Any

import orjson

from sessions_app.drafts import ToolDraft, Usage
from sessions_app.models import Event

from . import Ended, Failed, Outcome, Waits, calls
from .run import TurnRun
from .tool_rules import ESCALATE

LEAST_SECONDS = 0.3
"""Of a turn, so that it can be met running."""
WORDS_AT_ONCE = 10
SECONDS_BETWEEN = 0.1
LONGEST_WAIT = 60.0
PRICE = Decimal("0.000002")
"""US dollars a token: a stated one, as there is no price list for it."""
MODEL = "scripted-1"


def advance(turn: TurnRun) -> Outcome:
    """The steps of the message that are not in the log yet."""
    prompt = next((event.text for event in turn.events_of_turn("user_message") if not event.depth), "")
    steps = _steps(prompt)
    seconds = max(LEAST_SECONDS / len(steps), 0.02)
    for number, (command, rest) in enumerate(steps):
        key = f"scripted:{turn.turn}:{number}"
        if turn.interrupted or (not _is_done(turn, key) and turn.pause(seconds)):
            return Ended(calls.cancelled(turn))
        if number and not _is_done(turn, key):
            turn.check_money()
        STEPS[command](turn, key, rest, prompt)
        if not calls.finish_open_calls(turn, _execute):
            return Waits()
    return Ended(calls.cancelled(turn))


def _steps(prompt: str) -> list[tuple[str, str]]:
    """Commands and what stands behind them; text between commands is one step."""
    steps: list[tuple[str, str]] = []
    said: list[str] = []
    for line in (*prompt.splitlines(), "/end"):
        command, _, rest = line.strip().partition(" ")
        if command not in STEPS and command != "/end":
            said.append(line)
            continue
        if text := "\n".join(said).strip():
            steps.append(("/say", text))
        said = []
        if command in STEPS:
            steps.append((command, rest.strip()))
    return steps or [("/say", "")]


def _is_done(turn: TurnRun, key: str) -> bool:
    return any(event.client_key == key for event in turn.events_of_turn())


def _say(turn: TurnRun, key: str, rest: str, prompt: str) -> None:
    if _is_done(turn, key):
        return
    text = f"You said: {rest}" if rest else "You said nothing."
    words = text.split(" ")
    edges = [*range(0, len(words), WORDS_AT_ONCE), len(words)]
    for start, end in pairwise(edges):
        turn.stream_text(" ".join(words[start:end]) + (" " if end < len(words) else ""), key)
        if turn.pause(SECONDS_BETWEEN):
            text = " ".join(words[:end])
            break
    turn.append(turn.event("agent_message", key, text, **_used(key, prompt, text)))


def _think(turn: TurnRun, key: str, rest: str, prompt: str) -> None:
    turn.append(turn.event("reasoning", key, rest or "Hm.", **_used(key, prompt, rest)))


def _call(turn: TurnRun, key: str, rest: str, prompt: str) -> None:
    name, _, arguments = rest.partition(" ")
    server, _, tool = name.rpartition("/")
    _append_call(turn, key, tool or "nothing", server or None, _arguments(arguments), prompt)


def _question(turn: TurnRun, key: str, rest: str, prompt: str) -> None:
    _append_call(turn, key, ESCALATE, None, {"question": rest or "May I?"}, prompt)


def _append_call(
    turn: TurnRun, key: str, name: str, server: str | None, arguments: dict[str, Any], prompt: str
) -> None:
    tool = ToolDraft(call_id=f"{turn.session_id}:{key}", name=name, server=server, arguments=arguments)
    turn.append(turn.event("tool_call", key, tool=tool, **_used(key, prompt, name)))


def _arguments(text: str) -> dict[str, Any]:
    try:
        read = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        read = text
    return read if isinstance(read, dict) else {"input": read}


def _wait(turn: TurnRun, key: str, rest: str, prompt: str) -> None:
    try:
        turn.pause(min(float(rest or 1), LONGEST_WAIT))
    except ValueError:
        raise Failed(f'"/wait {rest}" needs a number of seconds') from None


def _fail(turn: TurnRun, key: str, rest: str, prompt: str) -> None:
    raise Failed(rest or "the script says so")


def _execute(call: Event, arguments: Any) -> calls.Result:
    return calls.Result(orjson.dumps({"tool": call.tool_name, "received": arguments}).decode())


def _used(key: str, prompt: str, text: str) -> dict[str, Any]:
    """Tokens and cost of a response: a token a word."""
    used = Usage(input_tokens=len(prompt.split()) + 10, output_tokens=len(text.split()) + 1)
    cost = PRICE * ((used.input_tokens or 0) + (used.output_tokens or 0))
    return {"model": MODEL, "usage": used, "request": key, "cost": cost}


STEPS = {"/say": _say, "/think": _think, "/tool": _call, "/ask": _question, "/wait": _wait, "/fail": _fail}
