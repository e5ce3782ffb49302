"""SWE-agent: ``.traj`` files of versions 0.5 to 1.1, and histories that stand alone.

``trajectory`` has the steps; ``history`` repeats them around the prompts, which stand nowhere else. A file tells
totals of a run only, so tokens and cost are one event at its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from ..drafts import Draft, EventDraft, SessionDraft, ToolDraft, Usage
from .common.calls import ID_LIMIT, Call, id_of
from .common.documents import Document, dollars, fingerprint
from .common.head import Head
from .common.jsonio import dumps
from .common.lines import Actor, Line, digest
from .common.reading import Findings, unknown_event
from .common.runs import runs
from .common.spans.parts import Part, call_of, parsed_if_json
from .common.values import bounded, count_of, dict_of, list_of, scalars_of, text_of
from .contract import Spec

NAME = "swe-agent"
SPEC = Spec(
    name=NAME,
    title="SWE-agent trajectory",
)

AGENT: Actor = ("agent", "SWE-agent")
TYPES = ("system_prompt", "demonstration", "observation", "action", "thought", "user", "system")
"""Values of ``message_type``."""
COMMANDS = frozenset({
    "open", "goto", "scroll_up", "scroll_down", "create", "edit", "insert", "append", "find_file", "search_dir",
    "search_file", "submit", "exit_forfeit", "str_replace_editor", "filemap", "view_image", "connect_start",
    "connect_sendline", "connect_exec", "connect_stop", "debug_start", "debug_step", "debug_continue", "debug_exec",
    "debug_stop", "decompile", "disassemble",
})  # fmt: skip
"""Tools of the agent that are called by a command line; every other one is the shell's."""
KEPT = frozenset({"trajectory", "history"})


def detect(head: Head) -> bool:
    """By steps with an action and an observation, or by a history with the agent's names for messages."""
    shape = head.shape
    steps = "trajectory.item.action" in shape and "trajectory.item.observation" in shape
    beside = shape.get("trajectory") == "[" and (shape.get("history") == "[" or shape.get("info") == "{")
    return steps or beside or any(_is_history(shape, place) for place in ("item.", "history.item."))


def _is_history(shape: dict[str, Any], place: str) -> bool:
    kinds = (shape.get(f"{place}{name}") for name in ("message_type", "role"))
    return f"{place}agent" in shape and next(kinds) in TYPES and isinstance(next(kinds), str)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one run. Raises ``FormatError`` for what is no JSON."""
    return runs(source, NAME, Run, KEPT, "history")


class Run(Document):
    """Reads one file."""

    def __init__(self, line: Line, findings: Findings, place: str = "/history") -> None:
        """``place`` is where in the file the messages stand."""
        super().__init__(NAME, findings)
        self._line = line
        self._place = place
        self._history = list_of(line.value.get("history"))
        self._steps = list_of(line.value.get("trajectory"))
        self._info = dict_of(line.value.get("info"))
        self._config = dict_of(parsed_if_json(line.value.get("replay_config")))
        self._first = self._first_answer()
        self._last: Call | None = None
        """The call that is waited for: an observation names none."""
        line.agent = AGENT

    def drafts(self) -> Iterator[Draft]:
        """The session, the prompts, the steps, and how it ended."""
        yield self._session()
        start = self._first
        for index in range(start if self._steps else len(self._history)):
            yield from self._message(index)
        functions = self._functions(start)
        for index, step in enumerate(self._steps):
            if isinstance(step, dict):
                yield from self._step(index, step, functions)
            else:
                pointer = f"{self._line.pointer}/trajectory/{index}"
                yield from self.odd("no-step", pointer, f"{str(step)[:60]} stands in the place of a step")
        yield from self._ending()

    def _session(self) -> SessionDraft:
        prompts = self._history[: self._first]
        identity = dumps([prompts, (self._steps or self._history[len(prompts) :])[:1]])
        problem = dict_of(self._config.get("problem_statement"))
        model = dict_of(dict_of(self._config.get("agent")).get("model")).get("name")
        version = self._info.get("swe_agent_version")
        rest = {key: item for key, item in self._line.value.items() if key not in KEPT}
        return SessionDraft(
            external_id=f"{NAME}-{digest(identity)}",  # the file names no run: what stays while it grows
            title=text_of(problem.get("id"))[:ID_LIMIT],
            agent_name=AGENT[1],
            phase=_phase(text_of(self._info.get("exit_status"))),
            model=id_of(model),
            metadata={"recorder": {"name": AGENT[1]} | scalars_of({"version": version})}
            | scalars_of({"environment_name": self._line.value.get("environment")}),
            record={NAME: bounded(rest, len(self._line.raw))} if rest else {},
        )

    def _first_answer(self) -> int:
        """Index of the first message of the agent that is no demonstration."""
        for index, message in enumerate(map(dict_of, self._history)):
            if message.get("role") == "assistant" and not _is_demo(message):
                return index
        return len(self._history)

    def _message(self, index: int) -> Iterator[Draft]:
        message, path = self._history[index], f"{self._place}/{index}"
        if not isinstance(message, dict):
            yield from self.odd("no-message", self._line.pointer + path, f"{str(message)[:60]} is no message")
            return
        line = self.part(self._line, message, path, f"message-{index}")
        text, data = _text(message.get("content")), scalars_of({"agent": message.get("agent")})
        role = message.get("role")
        if _is_demo(message):
            yield line.event("injected_context", text, data={"type": "demonstration"} | data)
        elif role == "system":
            yield line.event("system", text, data=data)
        elif role == "assistant":
            yield from self._answer(line, text_of(message.get("thought")) or text, message)
        elif role == "tool" or (role == "user" and index > self._first):
            yield self._observation(line, text, list_of(message.get("tool_call_ids")))
        elif role == "user":
            yield line.event("user_message", text, actor=("person", ""), data=data)
        else:
            yield unknown_event(self.findings, line, f"role {text_of(role)[:100]!r}")

    def _functions(self, start: int) -> dict[str, list[Part]]:
        """Calls of functions by the command line they became: steps keep the command only."""
        found: dict[str, list[Part]] = {}
        for message in map(dict_of, self._history[start:]):
            calls = [call_of(call) for call in list_of(message.get("tool_calls")) if isinstance(call, dict)]
            if calls and not _is_demo(message):
                found.setdefault(text_of(message.get("action")).strip(), []).append(calls[0])
        return found

    def _step(self, index: int, step: dict[str, Any], functions: dict[str, list[Part]]) -> Iterator[EventDraft]:
        """What the agent thought, did, and saw. ``query`` repeats the whole prompt and is left in the file."""
        essence = [step.get(name) for name in ("thought", "action", "response")]
        line = self.part(self._line, step, f"/trajectory/{index}", f"step-{index}", essence=essence)
        action = text_of(step.get("action"))
        called = functions.get(action.strip())
        text = text_of(step.get("thought")) or ("" if action else text_of(step.get("response")))
        yield from self._answer(line, text, step, called.pop(0) if called else None)
        if step.get("observation") or self._last:
            state = scalars_of(dict_of(parsed_if_json(step.get("state"))))
            data = scalars_of({"execution_time": step.get("execution_time")}) | ({"state": state} if state else {})
            yield self._observation(line, _text(step.get("observation")), [], data)

    def _answer(
        self, line: Line, text: str, message: dict[str, Any], function: Part | None = None
    ) -> Iterator[EventDraft]:
        self._last = None
        action = text_of(message.get("action"))
        calls = [call_of(call) for call in list_of(message.get("tool_calls")) if isinstance(call, dict)]
        function = function or (calls[0] if calls else None)
        if text or not (action or function):
            yield line.event("agent_message", text, actor=AGENT)
        if not action.strip() and not function:
            return
        name, arguments = (
            _command(action)
            if function is None or not function.name
            else (function.name, bounded(function.value, len(line.raw)))
        )
        call_id = function.call_id if function else None
        data = {"command": action} if function and action else {}
        event = line.event(
            "tool_call", part=":c", actor=AGENT, tool=ToolDraft(call_id, name, None, arguments), data=data
        )
        self._last = Call(event.key, name)
        self.calls.add(call_id, self._last)
        yield event

    def _observation(self, line: Line, text: str, ids: list[Any], data: dict[str, Any] | None = None) -> EventDraft:
        call_id = next(iter(filter(None, map(id_of, ids))), None)
        call = self.calls.get(call_id) or self._last
        name = call.name if call else ""
        key = f":o:{fingerprint(text.encode())}"
        tool = ToolDraft(call_id, name or None)
        parent = call.key if call else None
        return line.event("tool_result", text, part=key, actor=("tool", name), tool=tool, parent=parent, data=data)

    def _ending(self) -> Iterator[EventDraft]:
        line = self.part(self._line, self._info, "/info", "info")
        if patch := text_of(self._info.get("submission")):
            yield line.event(
                "artifact", patch, part=":p", at_path="/submission", actor=AGENT, data={"type": "submission"}
            )
        stats = dict_of(self._info.get("model_stats"))
        cost = dollars(stats.get("instance_cost", stats.get("total_cost")))
        sent, received = count_of(stats.get("tokens_sent")), count_of(stats.get("tokens_received"))
        if sent is not None or received is not None or cost is not None:
            usage = Usage(input_tokens=sent, output_tokens=received, quality="aggregate")
            yield line.event(
                "model_request", part=":m", at_path="/model_stats", actor=AGENT, cost=cost, data=scalars_of(stats),
                usage=usage if sent is not None or received is not None else None,
            )  # fmt: skip
        if status := text_of(self._info.get("exit_status")):
            yield line.event("status", status, at_path="/exit_status", data={"type": "exit"})


def _is_demo(message: dict[str, Any]) -> bool:
    return message.get("is_demo") is True or message.get("message_type") == "demonstration"


def _text(content: Any) -> str:
    """A text, or the texts of parts (pictures of a web page have none)."""
    if isinstance(content, str):
        return content
    return "\n".join(filter(None, (text_of(dict_of(part).get("text")) for part in list_of(content))))


def _command(action: str) -> tuple[str, dict[str, str]]:
    word = next(iter(action.split(None, 1)), "")
    return (word if word in COMMANDS else "bash"), {"command": action.rstrip("\n")}


def _phase(status: str) -> Any:
    """How a run ended: ``submitted``, ``submitted (exit_cost)``, ``exit_error``, ``exit_total_execution_time`` …"""
    if not status:
        return None
    if "submitted" not in status and ("error" in status or "fail" in status):
        return "crashed"
    return "timed_out" if "submitted" not in status and ("time" in status) else "completed"
