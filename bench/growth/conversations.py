"""Conversations that mean nothing, of any length and the same for the same dice: as events, and as a Claude Code file.

Words are spread as in a language: a few common ones, thousands that are rare. Every third text holds a reference and
the first one an order number, which each copy of the session replaces by its own (see ``copying``): as in real logs,
part of the search index is words that occur once.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import orjson

from sessions_app.drafts import EventDraft, ToolDraft, Usage

ORDER, REFERENCE = "ord0000000", "ref0000000000"
"""Stand for a word of the session's own and for one of each event's own."""
COMMON, SECOND, SELDOM, RARE = "refund", "warehouse", "chargeback", "xylophonist"
"""In about a tenth of all events, in a few of a hundred, in 2.4 % of sessions, in three sessions of any number."""
CHINESE, CHINESE_PART = "退款申请已经处理", "退款申请"
PATH = "src/billing/invoice_rules.py"
SYLLABLES = "ba ce di fo gu ha ki lo mu ne pi ra so tu ve wa xi yo zu bri cla dre fli gro plu ska tre vlo"
TOOLS = (
    "Read", "Bash", "Edit", "Grep", "lookup_order", "issue_refund", "send_mail", "search_docs", "create_ticket",
    "query_sales", "fetch_url", "schedule_pickup",
)  # fmt: skip
MODELS = ("claude-sonnet-4-5", "claude-haiku-4-5", "gpt-4.1", "gpt-4o-mini", "claude-opus-4-5", "house-model-7b")
"""The last one has no price."""
FAILED = "the address does not answer"


@cache
def _words() -> tuple[list[str], list[float]]:
    """6,000 words, and the sums of how often each is said (Zipf)."""
    dice = random.Random("words")
    made = list(dict.fromkeys("".join(dice.choices(SYLLABLES.split(), k=dice.randint(2, 4))) for _ in range(7_000)))[
        :6_000
    ]
    sums, total = [], 0.0
    for rank in range(len(made)):
        total += 1 / (rank + 10)
        sums.append(total)
    return made, sums


def most_said() -> str:
    """The word that most sessions say."""
    return _words()[0][0]


@dataclass(frozen=True, slots=True)
class Shape:
    """What is special about a conversation: how many events, its words beside the others, whether it fails at times."""

    events: int
    words: Sequence[str] = ()
    errors: bool = True


def conversation(dice: random.Random, shape: Shape, start: datetime, seconds: float) -> Iterator[EventDraft]:
    """So many events from ``start`` on, one every few ``seconds``."""
    said = _Said(dice, shape, start, seconds)
    while said.count < shape.events:
        yield from said.turn()


class _Said:
    """A conversation while it is made."""

    def __init__(self, dice: random.Random, shape: Shape, start: datetime, seconds: float) -> None:
        self.dice, self.shape, self.now, self.seconds = dice, shape, start, seconds
        self.count = 0
        self.model = dice.choice(MODELS)
        self.own_tools = dice.sample(TOOLS, k=4)

    def turn(self) -> Iterator[EventDraft]:
        """A message, calls with their results, an answer; as much of it as there is room for."""
        steps = [self._message, *[self._call] * self.dice.randint(1, 9), self._answer]
        for step in steps:
            for event in step():
                if self.count < self.shape.events:
                    self.count += 1
                    yield event

    def _message(self) -> Iterator[EventDraft]:
        text = f"Order {ORDER}: {self._plain(6, 30)}" if self.count == 0 else self._text(6, 40)
        yield self._event("user_message", text, actor_kind="person", actor_name="Ada")

    def _call(self) -> Iterator[EventDraft]:
        name = self.dice.choice(self.own_tools)
        call_id = f"toolu_{self.dice.getrandbits(64):016x}"
        call = self._event("tool_call", "", tool=ToolDraft(call_id, name, None, self._arguments(name)), spent=True)
        yield call
        failed = self.shape.errors and self.dice.random() < 0.05
        text = f"{FAILED}: {self._text(3, 8)}" if failed else self._text(8, 90)
        result = ToolDraft(call_id, name, status="error" if failed else "ok")
        yield self._event("tool_result", text, tool=result, actor_kind="tool", parent=call.key)

    def _answer(self) -> Iterator[EventDraft]:
        yield self._event("agent_message", self._text(15, 60), actor_kind="agent", spent=True)

    def _event(self, kind: Any, text: str, *, spent: bool = False, **more: Any) -> EventDraft:
        self.now += timedelta(seconds=self.dice.uniform(0.2, 1.8) * self.seconds)
        key = f"{self.dice.getrandbits(64):016x}"
        model = {"model": self.model, "usage": self._usage(), "request": f"msg_{key}"} if spent else {}
        return EventDraft(kind, key, at=self.now, text=text, **{"actor_kind": "agent"} | model | more)

    def _usage(self) -> Usage:
        dice = self.dice
        return Usage(dice.randint(3, 900), dice.randint(0, 9_000), dice.randint(0, 1_500), dice.randint(20, 800))

    def _arguments(self, name: str) -> dict[str, Any]:
        module = f"src/{self._word()}/{self._word()}.py"
        if name in ("Read", "Edit", "Grep"):
            return {"file_path": PATH if self.dice.random() < 0.02 else module, "limit": self.dice.randint(10, 400)}
        if name == "Bash":
            return {"command": f"make {self._word()} && pytest {module}", "timeout": 60}
        return {"query": self._plain(2, 8), "number": self.dice.randint(1, 90_000)}

    def _text(self, least: int, most: int) -> str:
        text = [self._plain(least, most)]
        for word, share in ((COMMON, 0.09), (SECOND, 0.03), (REFERENCE, 0.33)):
            if self.dice.random() < share:
                text.append(word)
        if self.shape.words and self.dice.random() < 0.25:
            text.append(self.dice.choice(self.shape.words))
        return " ".join(text)

    def _plain(self, least: int, most: int) -> str:
        words, sums = _words()
        return " ".join(self.dice.choices(words, cum_weights=sums, k=self.dice.randint(least, most)))

    def _word(self) -> str:
        return self._plain(1, 1)


def claude_code(session: str, events: Iterator[EventDraft]) -> Iterator[bytes]:
    """The same events as lines of a Claude Code file of that session."""
    parent = None
    for event in events:
        kind, message = _message_of(event)
        at = (event.at or datetime.now(UTC)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = {
            "parentUuid": parent, "sessionId": session, "uuid": event.key, "timestamp": at, "type": kind,
            "isSidechain": False, "userType": "external", "cwd": "/srv/shop", "version": "2.1.118", "message": message,
        }  # fmt: skip
        parent = event.key
        yield orjson.dumps(line) + b"\n"


def _message_of(event: EventDraft) -> tuple[str, dict[str, Any]]:
    """The type of the line, and what it says."""
    tool, usage = event.tool, event.usage
    if event.kind == "user_message":
        return "user", {"role": "user", "content": event.text}
    if event.kind == "tool_result" and tool:
        block = {"type": "tool_result", "tool_use_id": tool.call_id, "content": event.text}
        return "user", {"role": "user", "content": [block | ({"is_error": True} if tool.status == "error" else {})]}
    block = {"type": "text", "text": event.text}
    if tool:
        block = {"type": "tool_use", "id": tool.call_id, "name": tool.name, "input": tool.arguments}
    counts = usage and {
        "input_tokens": usage.input_tokens, "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens, "output_tokens": usage.output_tokens,
    }  # fmt: skip
    stop = "tool_use" if tool else "end_turn"
    return "assistant", {
        "id": event.request, "type": "message", "role": "assistant", "model": event.model, "content": [block],
        "stop_reason": stop, "usage": counts,
    }  # fmt: skip
