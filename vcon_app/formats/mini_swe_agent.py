"""mini-swe-agent: trajectories of versions 1 and 2, and the bare lists of messages before them.

A command is a tool call however the model gave it: as a function, or in the one code block of its answer. Each
response states its tokens (LiteLLM's), where the file keeps it; older files have a total cost only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any, BinaryIO

from ..drafts import Draft, EventDraft, SessionDraft, ToolDraft, Usage
from .common.calls import ID_LIMIT, Call, id_of
from .common.documents import Document, dollars, fingerprint
from .common.head import Head
from .common.jsonio import dumps
from .common.lines import Actor, Line, digest
from .common.reading import Findings, unknown_event
from .common.runs import runs
from .common.spans.messages import messages_of
from .common.spans.parts import Part
from .common.times import from_epoch
from .common.usage import first_count, uncached_if_inside
from .common.values import bounded, count_of, dict_of, first_text, list_of, scalars_of, text_of
from .contract import Spec

NAME = "mini-swe-agent"
SPEC = Spec(
    name=NAME,
    title="mini-swe-agent trajectory",
)

AGENT: Actor = ("agent", NAME)
PERSON: Actor = ("person", "")
MARKS = (b"mswea_bash_command", b"COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", b"MINI_SWE_AGENT_FINAL_OUTPUT")
"""Words of its protocol: without one of them a list of messages is anybody's."""
FENCE = re.compile(r"```(?:mswea_bash_command|bash)[ \t]*\r?\n")
RETURNED = re.compile(r"\s*<returncode>(-?\d{1,9})</returncode>")
NO_ACTION = re.compile(r"EXACTLY ONE action|Format error|tool call", re.I)
"""How the agent itself, not a person, answers a message without a command."""
IDENTITY = 3
"""Messages that make the id of a session: instructions, task, and the first answer. The file names none."""
NOT_RUN = "action was not executed"
"""What it says of a command that a person rejected, or that came after one."""
EXACT = Decimal("0.000001")
"""US dollars by which a stated total may differ from the sum: both are floats."""
TIMED_OUT = ("TimeExceeded",)


def detect(head: Head) -> bool:
    """By its name in the document, or by words of its protocol in a list of messages."""
    shape = head.shape
    if text_of(shape.get("trajectory_format")).startswith(NAME) or "info.mini_version" in shape:
        return True
    if text_of(shape.get("info.config.agent_type")).startswith("minisweagent.") or (
        shape.get("messages") == "[" and "info.model_stats" in shape
    ):
        return True
    plain = isinstance(shape.get("item.role"), str) and "item.content" in shape and "item.agent" not in shape
    return plain and any(mark in head.data for mark in MARKS)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one run. Raises ``FormatError`` for what is no JSON."""
    return runs(source, NAME, Run, ("messages",), "messages")


class Run(Document):
    """Reads one file."""

    def __init__(self, line: Line, findings: Findings, place: str = "/messages") -> None:
        """``place`` is where in the file the messages stand."""
        super().__init__(NAME, findings)
        self._line = line
        self._place = place
        self._messages = list_of(line.value["messages"])
        self._info = dict_of(line.value.get("info"))
        self._waiting: list[Call] = []
        """Calls that have no result yet; results of code blocks name none."""
        self._stated = self._ended = False
        self._cost: Decimal | None = None
        """What the responses state so far."""
        line.agent = AGENT

    def drafts(self) -> Iterator[Draft]:
        """The session, its messages, and how it ended."""
        yield self._session()
        asked = False
        for index, message in enumerate(self._messages):
            path = f"{self._place}/{index}"
            if not isinstance(message, dict):
                yield from self.odd("no-message", self._line.pointer + path, f"{str(message)[:60]} is no message")
                continue
            line = self.part(self._line, message, path, f"message-{index}")
            line.at = from_epoch(_extra(message).get("timestamp"), 1)
            yield from self._message(line, message, first=not asked)
            asked = asked or message.get("role") == "user"
        yield from self._ending()

    def _session(self) -> SessionDraft:
        value, config = self._line.value, dict_of(self._info.get("config"))
        stamps = (_extra(message).get("timestamp") for message in self._messages if isinstance(message, dict))
        times = [at for stamp in stamps if (at := from_epoch(stamp, 1))]
        place = scalars_of(dict_of(config.get("environment")))
        rest = {key: item for key, item in value.items() if key != "messages"}
        stats = dict_of(self._info.get("model_stats"))
        status = text_of(self._info.get("exit_status"))
        return SessionDraft(
            external_id=f"{NAME}-{digest(dumps(self._messages[:IDENTITY]))}",
            title=text_of(value.get("instance_id"))[:ID_LIMIT],
            agent_name=NAME,
            started_at=min(times, default=None),
            ended_at=max(times, default=None),
            phase="completed" if status == "Submitted" else "timed_out" if status in TIMED_OUT else None,
            model=id_of(dict_of(config.get("model")).get("model_name")),
            metadata={"recorder": {"name": NAME} | scalars_of({"version": self._info.get("mini_version")})}
            | ({"environment": place} if place else {}) | ({"model_stats": scalars_of(stats)} if stats else {}),
            record={NAME: bounded(rest, len(self._line.raw))} if rest else {},
        )  # fmt: skip

    def _message(self, line: Line, message: dict[str, Any], *, first: bool) -> Iterator[Draft]:
        role, extra = message.get("role"), _extra(message)
        if role == "assistant" or message.get("object") == "response":
            yield from self._answer(line, message)
        elif role == "exit":
            yield from self._exit(line, message)
        elif role == "system":
            yield line.event("system", _text(message))
        elif role == "tool" or message.get("type") == "function_call_output":
            yield self._result(line, message)
        elif role != "user":
            yield unknown_event(self.findings, line, f"role {text_of(role)[:100]!r}")
        elif first:
            yield line.event("user_message", _text(message), actor=PERSON)
        elif extra.get("interrupt_type") == "FormatError":
            yield from self._refused(line, message)
        elif self._waiting and "interrupt_type" not in extra:
            yield self._result(line, message)
        else:
            yield from self._user_message(line, message)

    def _user_message(self, line: Line, message: dict[str, Any]) -> Iterator[EventDraft]:
        """A person who interrupted or took over the keyboard, or the agent that asks for a command."""
        text, extra = _text(message), _extra(message)
        by_person = bool(extra) or not NO_ACTION.search(text)
        kind: Any = "user_message" if by_person else "injected_context"
        self._waiting = [] if "interrupt_type" in extra else self._waiting
        yield line.event(kind, text, actor=PERSON if by_person else ("system", ""), data=scalars_of(extra))
        yield from self._calls(line, _actions(extra), PERSON)

    def _answer(
        self, line: Line, message: dict[str, Any], response: dict[str, Any] | None = None
    ) -> Iterator[EventDraft]:
        extra = _extra(message)
        response = dict_of(extra.get("response")) or message if response is None else response
        texts, thoughts, calls = _parts_of(message)
        text, actions = "\n".join(texts), _actions(extra) or calls
        if not any(action.call_id for action in actions):
            text, command = _without_command(text)
            if command is not None and not actions:
                actions = [Part("call", value={"command": command})]
        thought = "\n\n".join(filter(None, thoughts))
        made = [line.event("reasoning", thought, part=":r", actor=AGENT)] if thought else []
        if text or not (actions or made):
            made.append(line.event("agent_message", text, actor=AGENT))
        self._waiting = []
        made += self._calls(line, actions, AGENT)
        yield from made[:-1]
        yield self._counted(made[-1], response, extra)

    def _calls(self, line: Line, actions: list[Part], actor: Actor) -> list[EventDraft]:
        made = []
        for index, action in enumerate(actions):
            arguments = bounded(action.value, len(line.raw))
            tool = ToolDraft(action.call_id, action.name or "bash", None, arguments)
            event = line.event("tool_call", part=f":c{index}", actor=actor, tool=tool)
            call = Call(event.key, action.name or "bash")
            self.calls.add(action.call_id, call)
            self._waiting.append(call)
            made.append(event)
        return made

    def _counted(self, event: EventDraft, response: dict[str, Any], extra: dict[str, Any]) -> EventDraft:
        usage, cost = usage_of(dict_of(response.get("usage"))), dollars(extra.get("cost"))
        self._stated = self._stated or usage is not None or cost is not None
        self._cost = self._cost if cost is None else (self._cost or 0) + cost
        request = id_of(response.get("id")) if usage or cost is not None else None
        return replace(event, usage=usage, cost=cost, request=request, model=id_of(response.get("model")))

    def _refused(self, line: Line, message: dict[str, Any]) -> Iterator[EventDraft]:
        """A response without a command that could be run: it was billed, and stands in the answer to it only."""
        response = dict_of(_extra(message).get("response"))
        if response:
            inner = replace(line, key=f"{line.key}:x", pointer=f"{line.pointer}/extra/response")
            said = [told for told in messages_of(response, "assistant") if told.role == "assistant"]
            parts = [part.text for told in said for part in told.parts if part.kind == "text"]
            event = inner.event("agent_message", "\n".join(parts), actor=AGENT, data={"refused": "FormatError"})
            yield self._counted(event, response, _extra(message))
        yield line.event("injected_context", _text(message), data={"interrupt_type": "FormatError"})

    def _result(self, line: Line, message: dict[str, Any]) -> EventDraft:
        extra, text = _extra(message), _text(message) or text_of(message.get("output"))
        call_id = id_of(message.get("tool_call_id")) or id_of(message.get("call_id"))
        call = self.calls.get(call_id) or (self._waiting[0] if self._waiting else None)
        if call in self._waiting:
            self._waiting.remove(call)
        name = call.name if call else ""
        facts = scalars_of({key: extra.get(key) for key in ("returncode", "exception_info")})
        tool = ToolDraft(call_id, name or None, status=_status(text, extra))
        parent = call.key if call else None
        return line.event("tool_result", text, actor=("tool", name), tool=tool, parent=parent, data=facts)

    def _exit(self, line: Line, message: dict[str, Any]) -> Iterator[EventDraft]:
        extra = _extra(message)
        if patch := text_of(extra.get("submission")):
            yield line.event("artifact", patch, part=":p", actor=AGENT, data={"type": "submission"})
        failed = bool(extra.get("traceback"))
        text = text_of(message.get("content")) if failed else text_of(extra.get("exit_status")) or _text(message)
        self._ended = True
        yield line.event(
            "error" if failed else "status", text, data={"type": "exit"} | scalars_of(extra, frozenset({"submission"}))
        )

    def _ending(self) -> Iterator[Draft]:
        """What the file says of the run as a whole, where no message says it."""
        line = self.part(self._line, self._info, "/info", "info")
        cost = dollars(dict_of(self._info.get("model_stats")).get("instance_cost"))
        if cost is not None and not self._stated:
            yield line.event("model_request", part=":m", at_path="/model_stats", actor=AGENT, cost=cost)
        if cost is not None and self._cost is not None and abs(cost - self._cost) > EXACT:
            message = (
                f"the file states ${cost:.4f} in total, its responses add up to ${self._cost:.4f}; those are counted"
            )
            yield from self.odd("totals-differ", "/info/model_stats", message)
        if self._ended:
            return
        patch, status = text_of(self._info.get("submission")), text_of(self._info.get("exit_status"))
        if patch:
            yield line.event(
                "artifact", patch, part=":p", at_path="/submission", actor=AGENT, data={"type": "submission"}
            )
        if status:
            yield line.event("status", status, part=f":{fingerprint(status.encode())}", data={"type": "exit"})


def usage_of(usage: dict[str, Any]) -> Usage | None:
    """LiteLLM's usage of a chat or a response: the prompt contains what was read from and written to the cache."""
    sent = first_count(usage, "prompt_tokens", "input_tokens")
    output = first_count(usage, "completion_tokens", "output_tokens")
    if sent is None and output is None:
        return None
    details = dict_of(usage.get("prompt_tokens_details")) or dict_of(usage.get("input_tokens_details"))
    read = first_count(usage | details, "cached_tokens", "cache_read_input_tokens")
    written = first_count(usage | details, "cache_creation_input_tokens", "cache_creation_tokens")
    parts = dict_of(usage.get("completion_tokens_details")) or dict_of(usage.get("output_tokens_details"))
    return Usage(
        uncached_if_inside(sent, read, written), read, written, output, count_of(parts.get("reasoning_tokens"))
    )


def _parts_of(message: dict[str, Any]) -> tuple[list[str], list[str], list[Part]]:
    """Texts, thoughts and calls of an answer."""
    parts = [part for answer in messages_of(message, "assistant") for part in answer.parts]
    texts = [part.text for part in parts if part.kind == "text"]
    thoughts = [part.text for part in parts if part.kind == "reasoning"]
    return texts, thoughts, [_command(part) for part in parts if part.kind == "call"]


def _without_command(text: str) -> tuple[str, str | None]:
    """An answer without its code block, and the command in there; several blocks are no command but text."""
    blocks = list(_blocks(text))
    if len(blocks) != 1:
        return text, None
    start, inner, end = blocks[0]
    return (text[:start] + text[end + 4 :]).strip(), text[inner:end].rstrip("\r")


def _extra(message: dict[str, Any]) -> dict[str, Any]:
    return dict_of(message.get("extra"))


def _actions(extra: dict[str, Any]) -> list[Part]:
    """Commands that the agent took out of an answer. Where it says none of them they stand in the answer itself."""
    made = [action if isinstance(action, dict) else {"command": action} for action in list_of(extra.get("actions"))]
    return [
        Part("call", "", id_of(action.get("tool_call_id")), "bash", {"command": command})
        for action in made
        if (command := first_text(action.get("command"), action.get("action")))
    ]


def _blocks(text: str) -> Iterator[tuple[int, int, int]]:
    """Code blocks: where the fence begins, where the command does, and the line break before the closing fence."""
    at = 0
    while (fence := FENCE.search(text, at)) and (end := text.find("\n```", fence.end() - 1)) >= 0:
        yield fence.start(), fence.end(), end
        at = end + 4


def _command(part: Part) -> Part:
    return part if isinstance(part.value, dict) else replace(part, value={"command": part.value})


def _status(text: str, extra: dict[str, Any]) -> str | None:
    """By the return code: in the text, before messages had extras."""
    match = RETURNED.match(text)
    code = extra.get("returncode", int(match[1]) if match else None)
    if extra.get("exception_info"):
        return "cancelled" if extra["exception_info"] == NOT_RUN else "error"
    return None if not isinstance(code, int) else "ok" if code == 0 else "error"


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(filter(None, (text_of(dict_of(part).get("text")) for part in list_of(content))))
