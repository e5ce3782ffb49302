"""OpenHands V0: lists of actions and observations, and ``output.jsonl`` of its evaluation, an instance with its
history a line (in older ones pairs of the two).

``llm_metrics`` run up: what a step cost is what they grew by. An observation names its action by ``cause``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import chain
from typing import Any, BinaryIO

from ...drafts import Draft, EventDraft, Finding, Usage
from ..common.agents.pieces import Piece, readable, shown
from ..common.agents.reading import AgentReading
from ..common.calls import id_of
from ..common.documents import dollars
from ..common.facts import ID_LIMIT
from ..common.head import Head
from ..common.jsonio import dumps
from ..common.lines import Item, Line, digest
from ..common.reading import Findings
from ..common.records import part_of, records
from ..common.times import moment_of
from ..common.usage import uncached
from ..common.values import count_of, dict_of, list_of, scalars_of, text_of
from ..contract import Spec

NAME = "openhands-v0"
SPEC = Spec(name=NAME, title="OpenHands V0")
COUNTS = ("prompt_tokens", "cache_read_tokens", "cache_write_tokens", "completion_tokens")
NOT_CALLS = frozenset({"message", "system", "recall", "change_agent_state", "null", "condensation", "pause", "resume"})
BESIDE = frozenset({"thought", "confirmation_state", "security_risk", "is_confirmed", "hidden", "blocking"})
"""Arguments that are about a call, not of it."""


def detect(head: Head) -> bool:
    """By a history of actions and observations under an instance, or by a list of them."""
    shape = head.shape
    if any(_holds(line) for line in head.records[:3]) or (
        shape.get("history") == "[" and _is_step(shape, "history.item.")
    ):
        return True
    pairs = "history.item.item.action" in shape or "history.item.item.observation" in shape
    return pairs or any(map(_is_listed_step, head.records if shape.get("") == "[" else ()))


def _is_listed_step(value: dict[str, Any]) -> bool:
    told = bool({"action", "observation"} & value.keys()) and "source" in value
    return told and not {"agent", "kind", "type"} & value.keys()


def _is_step(shape: dict[str, Any], at: str) -> bool:
    told = f"{at}action" in shape or f"{at}observation" in shape
    return told and (f"{at}source" in shape or f"{at}args" in shape) and f"{at}agent" not in shape


def _holds(line: dict[str, Any]) -> bool:
    first = next(iter(list_of(line.get("history"))), None)
    first = next(iter(first), None) if isinstance(first, list) else first
    step = dict_of(first)
    return bool({"action", "observation"} & step.keys()) and "agent" not in step and "message_type" not in step


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of each run in the file, one in memory at a time. Raises ``FormatError``."""
    findings = Findings(NAME)
    between: list[Item] = []
    is_read = False
    for run in _runs(records(source, NAME), between):
        yield from RunReading(findings).run(chain(between, run))
        between.clear()
        is_read = True
    if not is_read:  # refuses it
        yield from RunReading(findings).run(between)
    for item in between:
        if isinstance(item, Finding):
            yield from findings.limit(item)
        elif isinstance(item, EventDraft):
            yield item
    yield from findings.close()


def _runs(items: Iterable[Item], between: list[Item]) -> Iterator[Iterator[Item]]:
    """The records of each instance; records without a history are those of one run, in the file's order.

    ``between`` gets what is no record, such as a line that is cut off: it goes with the next, or ends the last."""
    rest = iter(items)
    for item in rest:
        if not isinstance(item, Line):
            between.append(item)
        elif "history" in item.value:
            yield _steps(item)
        else:
            yield chain([item], rest)


def _steps(whole: Line) -> Iterator[Item]:
    header = {key: value for key, value in whole.value.items() if key != "history"}
    history = list_of(whole.value.get("history"))
    header["history_begins"] = digest(dumps(history[:4]))
    yield Line(header, whole.pointer, dumps(header), whole.offset)
    for index, step in enumerate(history):
        for inner, one in enumerate(step if isinstance(step, list) else [step]):
            if isinstance(one, dict):
                yield part_of(whole, one, f"/history/{index}" + (f"/{inner}" if isinstance(step, list) else ""))


class RunReading(AgentReading):
    """The state of one run while it is read."""

    name = NAME
    title = "OpenHands"
    ids = ()
    repeated = frozenset({
        "/message", "/tool_call_metadata/model_response", "/instruction", "/args/query", "/extras/code",
        "/metrics/response_latencies", "/metrics/token_usages",
    })  # fmt: skip

    def __init__(self, findings: Findings) -> None:
        super().__init__()
        self.findings = findings
        self._before: dict[str, int] = {}
        self._cost = Decimal(0)
        self._last: str | None = None
        """The call that is waited for, where an observation names none."""
        self._count = 0

    def timed(self, line: Line) -> Iterator[Any]:
        """Times state no zone and are UTC."""
        line.at = moment_of(line.value.get("timestamp")).at or line.at
        return iter(())

    def note(self, line: Line) -> None:
        value = line.value
        if "history_begins" in value:
            instance = text_of(value.get("instance_id"))[: ID_LIMIT - 30]
            self.claim("-".join(filter(None, (instance, text_of(value["history_begins"])[:12]))))
            issue = dict_of(value.get("issue"))
            self.facts.title = instance or text_of(issue.get("title"))
            config = dict_of(dict_of(value.get("metadata")).get("llm_config"))
            self.facts.model = text_of(config.get("model"))[:ID_LIMIT] or self.facts.model

    def tells_apart(self, line: Line) -> bool:
        return "timestamp" in line.value

    def events(self, line: Line) -> Iterator[Draft]:
        value = line.value
        kind = text_of(value.get("action")) or text_of(value.get("observation"))
        line.key = self._keys.derived(str(value.get("id", "line"))[:40], line)
        if "history_begins" in value:
            yield from self._instance(line)
        elif "action" in value and kind:
            yield from self._action(line, kind, dict_of(value.get("args")) or value)
        elif "observation" in value and kind:
            yield from self._observation(line, kind)
        else:
            yield self.unknown(line, "neither an action nor an observation")

    def _instance(self, line: Line) -> Iterator[Draft]:
        result = dict_of(line.value.get("test_result"))
        patch = text_of(result.get("git_patch")) or text_of(line.value.get("git_patch"))
        skip = frozenset({"history_begins", "instruction", "git_patch"})
        yield line.event("system", data={"type": "instance"} | scalars_of(line.value, skip))
        if patch:
            yield line.event("artifact", patch, part=":patch", actor=line.agent, data={"type": "submission"})

    def _action(self, line: Line, kind: str, args: dict[str, Any]) -> Iterator[Draft]:
        value = line.value
        by_user = value.get("source") == "user" or (kind == "message" and "source" not in value and self._count == 0)
        text = text_of(args.get("content")) or (text_of(value.get("message")) if kind in ("message", "system") else "")
        if kind == "message":
            self._count += 1
            role = "user" if by_user else "assistant"
            yield from self.message(line, role, [Piece("text", text, "/args/content")], **self._billing(line))  # type: ignore[arg-type]
        elif kind == "system":
            yield line.event("system", text, at_path="/args")
        elif kind == "finish" and "tool_call_metadata" not in value:  # before tools had names an action ended the run
            said = next(filter(None, (text_of(args.get(key)) for key in ("final_thought", "thought"))), "")
            data = {"type": "finish"} | scalars_of(args, BESIDE | {"final_thought", "action", "message"})
            yield from self.message(line, "assistant", [Piece("text", said, "/args")], **self._billing(line), data=data)
        elif kind in NOT_CALLS:
            yield line.event("status", text, data={"type": kind[:100]} | scalars_of(args, BESIDE | {"content"}))
        else:
            yield from self._called(line, kind, args)

    def _called(self, line: Line, kind: str, args: dict[str, Any]) -> Iterator[Draft]:
        meta = dict_of(line.value.get("tool_call_metadata"))
        self._count += 1
        own = line.value.get("id")
        call_id = f"action-{own}" if isinstance(own, int) else f"step-{self._count}"
        self._last = call_id
        skip = BESIDE | ({"action", "id", "timestamp", "source", "message"} if args is line.value else frozenset())
        arguments = {key: item for key, item in args.items() if key not in skip}
        name = id_of(meta.get("function_name")) or kind[:ID_LIMIT]
        risk = {"security_risk": args.get("security_risk"), "confirmation_state": args.get("confirmation_state")}
        thought = args.get("thought", line.value.get("thought"))
        pieces = [
            Piece("text", shown(thought) if thought else "", "/args/thought"),
            Piece("call", "", "/args", call_id, name, arguments, data=scalars_of(risk)),
        ]
        yield from self.message(line, "assistant", pieces, **self._billing(line))

    def _observation(self, line: Line, kind: str) -> Iterator[Draft]:
        value = line.value
        cause, extras = value.get("cause"), dict_of(value.get("extras"))
        text, rest = readable(value.get("content"))
        text = text if text or rest else text_of(value.get("message"))
        if kind in ("recall", "agent_state_changed", "null", "condense"):
            event = "injected_context" if kind == "recall" else "status"
            more = scalars_of(extras)
            yield line.event(event, text, data={"type": kind[:100]} | more)  # type: ignore[arg-type]
            return
        call_id = f"action-{cause}" if isinstance(cause, int) else self._last
        code = dict_of(extras.get("metadata")).get("exit_code", extras.get("exit_code", value.get("exit_code")))
        status = "denied" if kind == "user_rejected" else "error" if kind == "error" else None
        if status is None and isinstance(code, int) and not isinstance(code, bool):
            status = "error" if code else "ok"
        facts = scalars_of(extras) | ({"exit_code": code} if isinstance(code, int) else {})
        yield from self.message(
            line, "tool", [Piece("result", text, "/content", call_id, None, rest or facts or None, status)]
        )

    def _billing(self, line: Line) -> dict[str, Any]:
        """What the metrics grew by since the step before; parallel calls of one response repeat them."""
        stated = dict_of(dict_of(line.value.get("llm_metrics")).get("accumulated_token_usage"))
        now = {name: count for name in COUNTS if (count := count_of(stated.get(name))) is not None}
        answered = dict_of(dict_of(line.value.get("tool_call_metadata")).get("model_response")).get("model")
        model = text_of(stated.get("model")) or text_of(answered) or self.facts.model
        if not now:
            return {"model": model}
        grown = {name: max(count - self._before.get(name, 0), 0) for name, count in now.items()}
        self._before |= now
        total = dollars(dict_of(line.value.get("llm_metrics")).get("accumulated_cost")) or Decimal(0)
        cost, self._cost = max(total - self._cost, Decimal(0)), max(total, self._cost)
        if not any(grown.values()):
            return {"model": model}
        read, written = grown.get("cache_read_tokens"), grown.get("cache_write_tokens")
        usage = Usage(
            uncached(grown.get("prompt_tokens"), read, written), read, written, grown.get("completion_tokens")
        )
        return {"model": model, "usage": usage, "cost": cost or None, "request": line.key}
