"""Chat sessions of VS Code: a document that is rewritten. Of a log of changes to it ``vscode_log`` makes the document.

From ``chatModel.ts`` and ``chatService.ts`` of VS Code 1.10x to 1.12x (https://github.com/microsoft/vscode). The
confirmation of a tool (``isConfirmed``) is a true record of who allowed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ...drafts import EventDraft, Finding, SessionDraft, ToolDraft, Usage
from ..common.calls import id_of
from ..common.facts import Facts
from ..common.head import Head
from ..common.lines import Actor, Line, fingerprint
from ..common.reading import Reading
from ..common.times import from_epoch
from ..common.values import FIELD_LIMIT, bounded, count_of, dict_of, list_of, scalars_of, text_of
from .timeline import parsed

AGENT: Actor = ("agent", "Copilot")
KINDS = {0: "denied", 2: "setting", 3: "rule", 4: "user", 5: "skipped"}
"""``ToolConfirmKind``; 1 says that the tool needs no confirmation."""
ANSWERS = {
    "denied": ("denied", "user"), "skipped": ("denied", "user"), "user": ("approved", "user"),
    "userAction": ("approved", "user"), "setting": ("approved", "policy"), "rule": ("approved", "policy"),
    "lmServicePerTool": ("approved", "policy"), "auto": ("approved", "policy"),
}  # fmt: skip
CALLS = frozenset({"toolInvocationSerialized", "toolInvocation"})
NOTES = frozenset({
    "undoStop", "codeblockUri", "prepareToolInvocation", "mcpServersStarting", "progressMessage", "progressTask",
    "progressTaskSerialized", "extensions", "pullRequest", "command", "treeData", "multiDiffData", "move", "reference",
    "inlineReference", "confirmation", "elicitation", "elicitation2", "elicitationSerialized", "warning", "hook",
    "notebookEditGroup", "questionCarousel", "planReview", "systemNotification", "info", "infoMessage", "workspaceEdit",
    "externalEdit", "autoModeResolution", "clearToPreviousToolInvocation", "voiceProgress", "disabledClaudeHooks",
    "mcpAuthenticationRequired", "todoList",
})  # fmt: skip
CANCELLED = 2
"""Of ``ResponseModelState``; older versions have ``isCanceled`` in its place."""


def is_document(head: Head) -> bool:
    """A document with chat requests, whole or as a program cut it down."""
    shape = head.shape
    names = ("requesterUsername", "responderUsername", "initialLocation", "requests.item.requestId")
    return shape.get("requests") == "[" and any(name in shape for name in names)


class ChatReading(Reading):
    """The state of one session while it is read; it is one line for ``Reading``."""

    name = "copilot-cli"
    title = "GitHub Copilot Chat"

    def __init__(self) -> None:
        super().__init__()
        self.facts = Facts("vscode-chat", self.title)
        self.model: str | None = None
        self._starters: dict[str, tuple[str, str]] = {}
        """Calls that started sub-agents: the key of each, and the agent's name."""

    def note_session(self, line: Line) -> bool:
        value = line.value
        self.facts.note_line(line)
        self.facts.session, self.facts.title = text_of(value.get("sessionId")), text_of(value.get("customTitle"))
        self.facts.at(from_epoch(value.get("creationDate"), 1000))
        self.facts.at(from_epoch(value.get("lastMessageDate"), 1000))
        return True

    def assign_key(self, line: Line) -> Iterable[Finding]:
        return ()

    def session(self, *, complete: bool) -> SessionDraft:
        return self.facts.draft(complete=complete)

    def events(self, line: Line) -> Iterator[EventDraft]:
        for index, value in enumerate(list_of(line.value.get("requests"))):
            request = dict_of(value)
            key = text_of(request.get("requestId"))[:200] or f"r{index}"
            inner = replace(line, value=request, key=key, at=from_epoch(request.get("timestamp"), 1000))
            self.facts.at(inner.at)
            self.model = text_of(request.get("modelId"))[:200] or None
            self.facts.model = self.model or self.facts.model
            yield from self._request(inner, f"/requests/{index}")

    def _request(self, line: Line, path: str) -> Iterator[EventDraft]:
        value, result = line.value, dict_of(line.value.get("result"))
        metadata = dict_of(result.get("metadata"))
        yield self._asked(line, path, by_a_person=value.get("isSystemInitiated") is not True)
        yield from self._given(line, metadata, f"{path}/result/metadata")
        parts = [
            {"value": found} if isinstance(found, str) else dict_of(found) for found in list_of(value.get("response"))
        ]
        asked = _asked_by_the_model(metadata, parts)
        answers = dict_of(metadata.get("toolCallResults"))
        for index, part in enumerate(parts):
            call_id = id_of(part.get("toolCallId"))  # what a call's part says of it changes until it has ended
            inner = replace(line, key=f"{line.key}:{call_id or f'{index}:{fingerprint(part)}'}")
            yield from self._part(inner, part, f"{path}/response/{index}", asked, answers)
        yield from self._unshown(line, asked, answers, parts, f"{path}/result/metadata/toolCallRounds")
        if details := dict_of(result.get("errorDetails")):
            yield line.event(
                "error", text_of(details.get("message")), part=":error", at_path=f"{path}/result/errorDetails"
            )
        if value.get("isCanceled") is True or dict_of(value.get("modelState")).get("value") == CANCELLED:
            yield line.event(
                "status", part=":canceled", at_path=path, actor=("person", ""), data={"type": "interrupted"}
            )
        usage = _usage(value, metadata)
        if usage:
            model = text_of(metadata.get("resolvedModel"))[:200] or self.model
            yield line.event(
                "model_request", part=":tokens", at_path=f"{path}/result/metadata", actor=AGENT, model=model,
                usage=usage, request=line.key, data=scalars_of({"credits": value.get("copilotCredits")}),
            )  # fmt: skip

    def _asked(self, line: Line, path: str, *, by_a_person: bool) -> EventDraft:
        message, variables = line.value.get("message"), dict_of(line.value.get("variableData")).get("variables")
        attachments = [
            {"type": text_of(item.get("kind"))[:50] or "file"} | scalars_of({"title": item.get("name")})
            for item in map(dict_of, list_of(variables)[:50])
        ]
        text = text_of(message) or text_of(dict_of(message).get("text"))
        details = dict_of(line.value.get("result")).get("details")  # the model, and at which rate it counts
        data = scalars_of({"command": dict_of(line.value.get("slashCommand")).get("name"), "details": details})
        data |= {"attachments": attachments} if attachments else {}
        if not by_a_person:  # the editor asks on: a terminal has ended, say
            data |= scalars_of({"type": "system_initiated", "label": line.value.get("systemInitiatedLabel")})
            return line.event("injected_context", text, at_path=f"{path}/message", data=data)
        return line.event("user_message", text, at_path=f"{path}/message", actor=("person", ""), data=data)

    def _given(self, line: Line, metadata: dict[str, Any], path: str) -> Iterator[EventDraft]:
        """What the editor put around a prompt: files that were open, the machine, instructions."""
        for name in ("renderedGlobalContext", "renderedUserMessage"):
            blocks = [dict_of(block) for block in list_of(metadata.get(name))]
            if text := "\n".join(filter(None, (text_of(block.get("text")) for block in blocks))):
                yield line.event(
                    "injected_context", text, part=f":{name}", at_path=f"{path}/{name}", data={"type": name}
                )

    def _unshown(
        self, line: Line, asked: dict[str | None, Any], answers: dict[str, Any], parts: list[dict[str, Any]], path: str
    ) -> Iterator[EventDraft]:  # fmt: skip
        """Calls of the model that are none of those the response shows, and cannot be told which of them they are."""
        shown = {id_of(part.get("toolCallId")) for part in parts}
        for index, (call_id, call) in enumerate(asked.items()):
            if call_id not in shown:
                arguments = bounded(parsed(call.get("arguments")), len(line.raw))
                data = {"type": "toolCallRounds", "name": text_of(call.get("name"))[:200], "arguments": arguments}
                text = _answer(answers.get(call_id or ""))
                yield line.event("system", text, part=f":asked{index}", at_path=path, data=data)

    def _part(
        self, line: Line, part: dict[str, Any], path: str, asked: dict[str | None, Any], answers: dict[str, Any]
    ) -> Iterator[EventDraft]:
        kind = part.get("kind")
        if kind in (None, "markdownContent", "markdownVuln"):
            yield line.event("agent_message", text_of_part(part), at_path=path, actor=AGENT, model=self.model)
        elif kind == "thinking":
            yield line.event("reasoning", text_of_part(part), at_path=path, actor=AGENT, model=self.model)
        elif isinstance(kind, str) and kind in CALLS:
            call_id = id_of(part.get("toolCallId"))
            given = dict_of(asked.get(call_id))
            answer = answers.get(call_id or "", answers.get(text_of(given.get("id"))))
            yield from self._tool(line, part, path, given, answer)
        elif kind == "textEditGroup":
            yield self._edited(line, part, path)
        elif isinstance(kind, str) and kind in NOTES:
            yield line.event(
                "system", text_of_note(part), at_path=path, data={"type": kind} | scalars_of(part, frozenset({"kind"}))
            )
        else:
            yield self.unknown(line, f"response part {str(kind)[:100]!r}", part, at_path=path)

    def _tool(
        self, line: Line, part: dict[str, Any], path: str, asked: dict[str, Any], answer: Any
    ) -> Iterator[EventDraft]:
        """A call, who allowed it, and what came back as far as the session keeps it."""
        call_id, name = id_of(part.get("toolCallId")), text_of(asked.get("name") or part.get("toolId"))[:200]
        special = dict_of(part.get("toolSpecificData"))
        starter = self._starters.get(text_of(part.get("subAgentInvocationId")))
        who = ("subagent", starter[1]) if starter else AGENT
        line = replace(line, depth=1, parent=starter[0]) if starter else line
        if special.get("kind") == "subagent" and call_id:
            self._starters[call_id] = f"{line.key}:call", text_of(special.get("agentName"))[:200]
        server = _server(part)
        tool = ToolDraft(call_id, name or None, server, bounded(_arguments(part, asked), len(line.raw)))
        about = scalars_of({"title": _words(part.get("invocationMessage")), "tool_id": part.get("toolId")})
        yield line.event("tool_call", part=":call", at_path=path, actor=who, model=self.model, tool=tool, data=about)
        confirmed, parent = answer_of(part.get("isConfirmed")), f"{line.key}:call"
        denied = confirmed is not None and confirmed[0] == "denied"
        if confirmed:
            data = {"type": "isConfirmed", "decision": confirmed[0], "by": confirmed[1], "inferred": False}
            yield line.event(
                "approval", part=":approval", at_path=f"{path}/isConfirmed", parent=parent, tool=tool, data=data
            )
        if part.get("isComplete") is True or answer is not None or denied:
            shown = text_of(special.get("result")) or text_of(dict_of(special.get("terminalCommandOutput")).get("text"))
            text = _answer(answer) or shown or ("" if denied else _words(part.get("pastTenseMessage")))
            details = bounded(part.get("resultDetails"), len(line.raw))
            ended = ToolDraft(
                call_id, name or None, server, None, details, "denied" if denied else _status(part, special)
            )
            yield line.event(
                "tool_result", text, part=":result", at_path=path, actor=("tool", name), parent=parent, tool=ended
            )

    def _edited(self, line: Line, part: dict[str, Any], path: str) -> EventDraft:
        uri = dict_of(part.get("uri"))
        where = text_of(uri.get("fsPath") or uri.get("path") or part.get("uri"))[:1000]
        texts = [text_of(dict_of(edit).get("text")) for group in list_of(part.get("edits")) for edit in list_of(group)]
        data = {"type": "textEditGroup", "path": where, "paths": [where], "edits": len(texts)}
        return line.event("file_change", "\n".join(texts)[:FIELD_LIMIT], at_path=path, actor=AGENT, data=data)


def _server(part: dict[str, Any]) -> str | None:
    """The MCP server that a tool belongs to."""
    source = dict_of(part.get("source"))
    if source.get("type") != "mcp":
        return None
    return text_of(source.get("serverLabel") or source.get("label"))[:200] or None


def answer_of(confirmed: Any) -> tuple[str, str] | None:
    """Decision and who made it; ``None`` when nobody was asked. Old sessions only say that it was confirmed."""
    if isinstance(confirmed, bool):
        return ("approved", "not recorded") if confirmed else ("denied", "user")
    kind = confirmed.get("type") if isinstance(confirmed, dict) else confirmed
    if isinstance(kind, int) and not isinstance(kind, bool):
        kind = KINDS.get(kind)
    return ANSWERS.get(kind) if isinstance(kind, str) else None


def text_of_part(part: dict[str, Any]) -> str:
    """The text of a part: ``value`` or ``content``, a string or Markdown."""
    return _words(part.get("value")) or _words(part.get("content")) or _words(part.get("title"))


def text_of_note(part: dict[str, Any]) -> str:
    """What a note says; of questions to the person what was asked and answered."""
    said = [_words(part.get(name)) for name in ("title", "subtitle", "message", "description", "value", "content")]
    answers = dict_of(part.get("data"))
    for question in map(dict_of, list_of(part.get("questions"))):
        said += [_words(question.get("title")), _words(question.get("message"))]
        said += [f"- {_words(dict_of(option).get('label'))}" for option in list_of(question.get("options"))]
        said.append(_chosen(answers.get(text_of(question.get("id")))))
    return "\n".join(dict.fromkeys(filter(None, said)))


def _chosen(answer: Any) -> str:
    told = dict_of(answer)
    values = (told.get("selectedValue"), *list_of(told.get("selectedValues")), told.get("freeformValue"))
    chosen = [text_of(answer), *map(_words, values)]
    return " ".join(["\N{RIGHTWARDS ARROW}", *filter(None, chosen)]) if any(chosen) else ""


def _status(part: dict[str, Any], special: dict[str, Any]) -> str | None:
    """What became of a call, where its result or the terminal it ran in says so."""
    failed, code = dict_of(part.get("resultDetails")).get("isError"), special.get("terminalCommandState")
    code = dict_of(code).get("exitCode")
    if failed is True or (type(code) is int and code != 0):
        return "error"
    return "ok" if failed is False or code == 0 else None


def _usage(request: dict[str, Any], metadata: dict[str, Any]) -> Usage | None:
    """Tokens of a turn. The editor counts the answers of all its responses, and the prompt of the last; older versions
    have what the extension said of one.
    """
    stated = dict_of(dict_of(request.get("result")).get("usage"))
    pairs = [(holder.get("promptTokens"), holder.get("completionTokens")) for holder in (request, stated)]
    pairs.append((metadata.get("promptTokens"), metadata.get("outputTokens")))
    for pair in pairs:
        given, output = map(count_of, pair)
        if given is not None or output is not None:
            return Usage(input_tokens=given, output_tokens=output, quality="aggregate")
    return None


def _words(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(map(text_of, value))
    return text_of(value) or text_of(dict_of(value).get("value"))


def _arguments(part: dict[str, Any], asked: dict[str, Any]) -> Any:
    """Arguments as the model gave them, else what the screen kept of them."""
    if asked:
        return parsed(asked.get("arguments"))
    special = dict_of(part.get("toolSpecificData"))
    line = dict_of(special.get("commandLine"))
    if command := text_of(line.get("original") or special.get("command")):
        return {"command": command}
    if special.get("kind") == "subagent":
        return {name: special[name] for name in ("description", "prompt", "agentName") if special.get(name)}
    return special.get("rawInput")


def _asked_by_the_model(metadata: dict[str, Any], parts: list[dict[str, Any]]) -> dict[str | None, Any]:
    """Calls as the model made them, by the id under which the response shows them.

    That is another one than the model's in some versions; as many as are shown are then shown in their order.
    """
    rounds = map(dict_of, list_of(metadata.get("toolCallRounds")))
    calls = [call for held in rounds for call in map(dict_of, list_of(held.get("toolCalls")))]
    shown = [id_of(part.get("toolCallId")) for part in parts if text_of(part.get("kind")) in CALLS]
    by_id: dict[str | None, Any] = {id_of(call.get("id")): call for call in calls}
    if len(shown) == len(calls) and not by_id.keys() & set(shown):
        return dict(zip(shown, calls, strict=True))
    return by_id


def _answer(answer: Any) -> str:
    parts = map(dict_of, list_of(dict_of(answer).get("content")))
    texts = (text_of(part.get("value")) or _laid_out(dict_of(part.get("value")).get("node")) for part in parts)
    return "\n".join(filter(None, texts))


def _laid_out(node: Any) -> str:
    """The text of a tree that the editor lays prompts out from (``@vscode/prompt-tsx``)."""
    found: list[str] = []
    stack = [node]
    while stack:
        one = dict_of(stack.pop())
        if text := text_of(one.get("text")):
            found.append("\n" + text if one.get("lineBreakBefore") is True and found else text)
        stack += reversed(list_of(one.get("children")))
    return "".join(found)
