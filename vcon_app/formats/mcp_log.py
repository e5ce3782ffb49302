"""Model Context Protocol: what a client, a server or a proxy between them logged of its JSON-RPC messages, one a line
or in a list, bare or under ``message``. Calls of tools make a session; a log without one is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from ..drafts import Draft, FormatError
from .common.agents.pieces import Piece, readable, shown
from .common.agents.reading import AgentReading
from .common.calls import id_of
from .common.facts import ID_LIMIT
from .common.head import Head
from .common.lines import Line
from .common.reading import REMEMBERED
from .common.records import records
from .common.values import dict_of, forget_oldest, scalars_of, text_of
from .contract import Spec

NAME = "mcp-log"
SPEC = Spec(name=NAME, title="Model Context Protocol log", grows="lines")
METHODS = (
    "tools/", "resources/", "prompts/", "sampling/", "elicitation/", "roots/", "completion/", "logging/",
    "notifications/",
)  # fmt: skip
CALL, SAMPLE, ASK = "tools/call", "sampling/createMessage", "elicitation/create"
DECISIONS = {"accept": "approved", "decline": "denied", "cancel": "denied"}


def detect(head: Head) -> bool:
    """By methods of the protocol; those with which sessions begin are others', too."""
    found = [message_of(line) for line in head.records]
    if any(text_of(message.get("method")).startswith("session/") for message in found):  # of the Agent Client Protocol
        return False
    return any("jsonrpc" in message and text_of(message.get("method")).startswith(METHODS) for message in found)


def message_of(value: dict[str, Any]) -> dict[str, Any]:
    """The message in a record: itself, or what a proxy put it under."""
    inner = (dict_of(value.get(name)) for name in ("message", "msg", "payload", "data"))
    return value if "jsonrpc" in value else next((one for one in inner if "jsonrpc" in one), {})


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of one log. Raises ``FormatError``, also where no tool is called in it."""
    if not any(isinstance(item, Line) and _is_of_a_session(item) for item in records(source, NAME)):
        raise FormatError("it is a log of the Model Context Protocol in which no tool is called: no session is in it")
    source.seek(0)
    return McpReading().run(records(source, NAME))


def _is_of_a_session(line: Line) -> bool:
    return message_of(line.value).get("method") in (CALL, SAMPLE, ASK)


class McpReading(AgentReading):
    """The state of one log while it is read."""

    name = NAME
    title = "MCP client"
    stamps = ("timestamp", "time", "ts", "at")
    ids = ()

    def __init__(self) -> None:
        super().__init__()
        self._asked: dict[str, str] = {}
        """Ids of requests that wait for an answer, and their methods."""
        self._server: str | None = None

    def note(self, line: Line) -> None:
        message = message_of(line.value)
        client = dict_of(dict_of(message.get("params")).get("clientInfo"))
        server = dict_of(dict_of(message.get("result")).get("serverInfo"))
        self.facts.agent = text_of(client.get("name"))[:ID_LIMIT] or self.facts.agent
        self.facts.version = text_of(client.get("version")) or self.facts.version
        self._server = text_of(server.get("name"))[:ID_LIMIT] or self._server
        self.claim(line.value.get("sessionId") or line.value.get("session_id"))

    def tells_apart(self, line: Line) -> bool:
        return _is_of_a_session(line)

    def events(self, line: Line) -> Iterator[Draft]:
        message = message_of(line.value)
        method, own = text_of(message.get("method")), str(message.get("id"))[:ID_LIMIT]
        params = dict_of(message.get("params"))
        line.agent = "agent", self.facts.agent
        if method == CALL:
            piece = Piece("call", "", "/params", own, id_of(params.get("name")), params.get("arguments"))
            yield self.called(line, piece, {"server": self._server} if self._server else {}, {})
        elif method in (SAMPLE, ASK):
            said = text_of(params.get("message")) or _text_of_messages(params.get("messages"))
            yield line.event("model_request" if method == SAMPLE else "approval", said, data={"type": method})
        elif method:
            yield line.event("system", data={"type": method[:200]} | scalars_of(params))
        elif self._asked.get(own) == CALL:
            yield self._answer(line, message, own)
        elif self._asked.get(own) == ASK and (decision := DECISIONS.get(_action(message))):
            data = {"type": ASK, "decision": decision, "answer": _action(message), "by": "user", "inferred": False}
            yield line.event("approval", shown(dict_of(message["result"]).get("content")), data=data)
        else:
            told = message.get("error") or message.get("result")
            kind = "error" if message.get("error") else "system"
            text = text_of(dict_of(message.get("error")).get("message"))
            yield line.event(kind, text, data={"type": "answer"} | scalars_of(dict_of(told)))
        if method and "id" in message:
            self._asked[own] = method
            forget_oldest(self._asked, REMEMBERED)
        elif not method:
            self._asked.pop(own, None)

    def _answer(self, line: Line, message: dict[str, Any], own: str) -> Draft:
        """What a call brought, or why it could not be made."""
        result, error = dict_of(message.get("result")), dict_of(message.get("error"))
        text, value = readable(result.get("content"))
        failed = bool(error) or result.get("isError") is True
        value = result.get("structuredContent", value)
        piece = Piece("result", text or text_of(error.get("message")), "/result", own, None, value,
                      "error" if failed else "ok")  # fmt: skip
        return self.returned(line, piece, scalars_of({"code": error.get("code")}), {"at_path": "/result"})


def _action(message: dict[str, Any]) -> str:
    """What a person did with a question: accept, decline, cancel."""
    return text_of(dict_of(message.get("result")).get("action"))[:100]


def _text_of_messages(messages: Any) -> str:
    told = (dict_of(dict_of(one).get("content")) for one in (messages if isinstance(messages, list) else []))
    return "\n".join(filter(None, (text_of(content.get("text")) for content in told)))
