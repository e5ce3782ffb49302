"""One pass over the lines of a file: each gets its place in the session and goes to the handler of its type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ...drafts import EventDraft, Finding, SessionDraft
from ..common import reading
from ..common.lines import Line, digest
from ..common.reading import Keys, unknown_type
from ..common.values import dict_of, forget_oldest, text_of
from .facts import ID_LIMIT, Facts
from .links import KEPT, Links
from .programs import CLAUDE_CODE, Program
from .usage import Outputs

Handler = Callable[["Reading", Line], Iterable[EventDraft]]


class Reading(reading.Reading):
    """The state of one file of Claude Code, or of a program that streams as it does, while it is read."""

    def __init__(self, handlers: dict[str, Handler], last_session: str = "", program: Program = CLAUDE_CODE) -> None:
        self.name, self.title = program.name, program.title
        super().__init__()
        self.program = program
        self.facts = Facts(last_session, program)
        self.links = Links()
        self.outputs = Outputs()
        self.previous = self._current = ""
        """``uuid`` of the line before, to notice where the chain of parents jumps, and of the one that is read."""
        self._handlers = handlers
        self._prompts: dict[str, str] = {}
        self._keys = Keys()

    def note_session(self, line: Line) -> bool:
        """Collect session facts and titles: a summary may stand before the first line that tells the session."""
        self.facts.note_line(line)
        value = line.value
        return bool(self.facts.session and (value.get("cwd") or value.get("type") in ("user", "assistant")))

    def fix_session_id(self) -> None:
        self.facts.fix_session_id()

    def session(self, *, complete: bool) -> SessionDraft:
        return self.facts.final_session() if complete else self.facts.first_session()

    def closing(self) -> Iterator[Finding]:
        if self.program is CLAUDE_CODE and (finding := self.outputs.finding()):
            yield finding

    def events(self, line: Line) -> Iterable[EventDraft]:
        kind = line.value.get("type") if "type" in line.value else _spoken_type(line)
        handler = self._handlers.get(kind) if isinstance(kind, str) else None
        return handler(self, line) if handler else [self.unknown(line, unknown_type(kind))]

    def assign_key(self, line: Line) -> Iterable[Finding]:
        """Give a line its key and depth."""
        value = line.value
        uuid = value.get("uuid")
        self.previous = self._current
        if isinstance(uuid, str) and uuid:
            self._current = uuid
        if isinstance(uuid, str) and 0 < len(uuid) <= ID_LIMIT:
            line.key = uuid
            self.facts.titles.note_line_id(uuid)
        else:
            line.key = self._derived_key(line)
        self.facts.note_line(line)
        copied = self.facts.mark_copied(line)
        self._nest(line)
        return self.findings.limit(copied) if copied else ()

    def rewound(self, before: str, key: str) -> str | None:
        """The prompt that a later one with the same parent replaced: the person went back to before it.

        Tool results and progress lines have such siblings too, prompts only when somebody rewound or edited.
        """
        first = self._prompts.setdefault(before, key)
        forget_oldest(self._prompts, KEPT)
        return first if first != key else None

    def _derived_key(self, line: Line) -> str:
        """Without a uuid the bytes are the identity, and without a time also the line they follow:
        ``mode`` lines are equal each time a person goes back to a mode. A stream of others names no line at all.
        """
        if self.program is not CLAUDE_CODE:
            return self._keys.derived(text_of(line.value.get("type")), line)
        after = b"" if line.at else self.previous.encode(errors="replace")
        return f"{text_of(line.value.get('type'))[:40]}:{digest(line.raw + after)}"

    def _nest(self, line: Line) -> None:
        """Lines of a sub-agent stand one level deeper, below the call that started it."""
        value, facts = line.value, self.facts
        if facts.agent_id:
            line.agent = "subagent", self.title
            line.depth = int(text_of(value.get("agentId")) not in ("", facts.agent_id))
        elif value.get("isSidechain") is True or (value.get("agentId") and value.get("isSidechain") is not False):
            call = self.links.get(value.get("parent_tool_use_id")) or self.links.sub_agent_call(
                line, dict_of(value.get("message")).get("content")
            )
            line.depth = call.depth + 1 if call else 1
            line.parent = call.key if call else None
            line.agent = "subagent", call.agent_type if call else ""
        else:
            line.agent = "agent", self.title


def _spoken_type(line: Line) -> str | None:
    """The type of a line that a tool took it from, where somebody says something in it."""
    message = dict_of(line.value.get("message"))
    role = text_of(message.get("role"))
    return role if role in ("user", "assistant") and message.get("content") else None
