"""A tool call opened: its arguments and its result in the shape a person reads, whatever the tool is called."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from . import code_html, colours, diff, terminal, toolline
from .arguments import sql
from .text import Clamped, clamp, clean, json_escapes

TEXT, LINES = 8 * 1024, 120
"""Characters and lines of one text that are shown before "show all"."""
VALUE = 1_000
ROWS = 50
"""Characters of one argument in a table, and rows of the table."""
KEY = 100
TODOS = 200

Form = Literal["diff", "todos", "command", "code", "text", "table", "json"]
MOST_DIFF = 400
"""Rows of a diff that are shown before "show the arguments in full"."""


def diff_lines(file: diff.FileDiff) -> list[code_html.DiffLine]:
    """The rows of a diff that are shown."""
    return code_html.diff_lines(file.rows[:MOST_DIFF], file.path)


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a card. ``of`` names the column its whole value is read from: arguments, result or text."""

    form: Form
    title: str
    of: str
    value: Any
    language: str = ""
    """In which its text is coloured, see ``code_html.html_of``."""
    is_folded: bool = False
    """Whether it says nothing that is not shown beside it."""
    left_out: int = 0
    """States of lines that a terminal wrote over."""

    @property
    def html(self) -> str:
        """A text (``Clamped``) as HTML that is safe in a page."""
        return code_html.html_of(self.value.text, self.language)

    @property
    def diff_lines(self) -> list[code_html.DiffLine]:
        """The rows of a diff that are shown."""
        return diff_lines(self.value)

    @property
    def code_lines(self) -> list[tuple[int | None, str]]:
        """Numbers and HTML of the lines of a file."""
        texts = [clean(line.text).replace("\n", " ") for line in self.value.lines]
        html = colours.lines_of("\n".join(texts), self.language)
        return [(line.number, shown.rstrip("\n")) for line, shown in zip(self.value.lines, html, strict=True)]


@dataclass(frozen=True, slots=True)
class Pair:
    """A row of a table: a key, and its value cut to ``VALUE`` characters."""

    key: str
    value: Clamped
    is_text: bool

    @property
    def html(self) -> str:
        """The value as HTML that is safe in a page; what is no text is JSON."""
        return code_html.html_of(self.value.text, "" if self.is_text else "json")


@dataclass(frozen=True, slots=True)
class Todo:
    """A line of a plan. ``state`` is done, doing or open."""

    state: str
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    number: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """Lines of a file with the numbers the tool gave them."""

    lines: tuple[Line, ...]
    cut: bool
    characters: int


def parts_of_arguments(name: str | None, arguments: Any, result: Any = None, *, most: int = VALUE) -> list[Part]:
    """What a call asks for: edits as diffs, plans as lists, commands as they are typed, the rest as a table.

    ``result`` is looked at for the patch that an edit states there, with the line numbers of the file. ``most``
    is the number of characters of one value in a table.
    """
    if arguments is None:
        return []
    if files := diff.diffs_of_call(name, arguments, result):
        return [Part("diff", "Edit", "arguments", file) for file in files]
    if todos := todos_of(arguments):
        return [Part("todos", "Plan", "arguments", todos)]
    if not isinstance(arguments, dict):
        language = "" if isinstance(arguments, str) else "json"
        shown = clamp(as_text(arguments), characters=TEXT, lines=LINES)
        return [Part("text", "Arguments", "arguments", shown, language)]
    parts, told = [], frozenset[str]()
    if command := command_of(name, arguments):
        told = frozenset((command_key_of(arguments),))
        shown = clamp(command, characters=TEXT, lines=LINES)
        parts = [Part("command", "Command", "arguments", shown, "bash")]
    elif (key := sql.key_of(arguments)) is not None:
        told = frozenset((key,))
        shown = clamp(arguments[key], characters=TEXT, lines=LINES)
        parts = [Part("command", "SQL", "arguments", shown, "sql")]
    rest = {key: value for key, value in arguments.items() if key not in told}
    return parts + ([Part("table", "Arguments", "arguments", table(rest, most))] if rest else [])


def parts_of_result(
    name: str | None, text: str, result: Any, arguments: Any = None, *, failed: bool = False
) -> list[Part]:
    """What came back: a file as code with its line numbers, structured results as a table, the rest as text.

    ``arguments`` are those of the call: a file is coloured by its name, and what only confirms an edit is folded.
    """
    parts = []
    if text.strip():
        text, left_out = terminal.last_states(text)
        code, language = _code(text), language_of_result(name, text, arguments)
        shown = code or clamp(text, characters=TEXT, lines=LINES)
        confirms = not failed and bool(diff.diffs_of_call(name, arguments, result))
        form: Form = "code" if code else "text"
        parts.append(Part(form, "Result", "text", shown, language, is_folded=confirms, left_out=left_out))
    facts = _facts(result, has_text=bool(parts))
    if isinstance(facts, dict) and facts:
        parts.append(Part("table", "Details" if parts else "Result", "result", table(facts)))
    elif facts not in (None, {}, []):
        parts.append(
            Part(
                "json",
                "Details" if parts else "Result",
                "result",
                clamp(as_text(facts), characters=TEXT, lines=LINES),
                "" if isinstance(facts, str) else "json",
            )
        )
    return parts


def facts(value: dict[str, Any], most: int = VALUE, rows: int = ROWS) -> list[Pair]:
    """The first ``rows`` of what a recorder tells beside the conversation, in words."""
    return table({key: in_words(item) for key, item in list(value.items())[:rows]}, most, rows)


def table(value: dict[str, Any], most: int = VALUE, rows: int = ROWS) -> list[Pair]:
    """The first ``rows`` of an object, each value on its own and cut to ``most`` characters."""
    return [_pair(key, item, most) for key, item in list(value.items())[:rows]]


def in_words(value: Any, depth: int = 0) -> str:
    """What a recorder tells, to be read, not parsed: ``name Alex · role customer``, a line for each of a list."""
    if isinstance(value, dict):
        said = " · ".join(
            f"{key} {in_words(item, depth + 1)}" for key, item in value.items() if item not in (None, "", [], {})
        )
        return f"({said})" if depth > 1 else said
    if isinstance(value, list):
        nested = depth == 0 and any(isinstance(item, dict) for item in value)
        return ("\n" if nested else ", ").join(in_words(item, depth + 1) for item in value)
    return (
        {True: "yes", False: "no", None: "—"}.get(value, str(value)) if isinstance(value, bool | None) else str(value)
    )


def as_text(value: Any) -> str:
    """A text as it is, anything else as indented JSON."""
    return value if isinstance(value, str) else as_json(value)


def as_json(value: Any) -> str:
    """Indented JSON, everything invisible in it escaped."""
    return json_escapes(orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode())


_PRINTS = re.compile(r"(?:^|[;&]\s*)(?:cat|nl|head|tail|sed|bat)\s[^|;&<>\n]*?([\w./-]{1,200}\.\w{1,12})['\"]?\s*$")
_JSON = re.compile(r"\s*(?:\{\s*[\"}]|\[\s*[\"\[{\]\d])")


def language_of_result(name: str | None, text: str, arguments: Any) -> str:
    """The language of what came back: that of the file which was read or printed, a diff, or JSON; else none."""
    if text.startswith(("diff --git ", "--- a/", "*** Begin Patch")):
        return "diff"
    if isinstance(arguments, dict):
        command = command_of(name, arguments)
        printed = _PRINTS.search(command[-400:]) if command else None
        is_read = toolline.describe_call(name, arguments).verb == "read"
        path = printed[1] if printed else diff.path_of(arguments) if is_read else ""
        if language := colours.language_of_path(path):
            return language
    return "json" if _JSON.match(text) else ""


COMMAND_KEYS = ("command", "cmd", "script")


def command_key_of(arguments: dict[str, Any]) -> str:
    """Under which name arguments have the command that is run; empty where they have none."""
    return next((key for key in COMMAND_KEYS if arguments.get(key)), "")


def command_of(name: str | None, arguments: dict[str, Any]) -> str:
    """The command that a call runs in a shell; empty for every other call."""
    line = toolline.describe_call(name, arguments)
    value = arguments.get(command_key_of(arguments))
    if line.icon != "terminal" or value is None:
        return ""
    return value if isinstance(value, str) else " ".join(map(str, value)) if isinstance(value, list) else ""


def _pair(key: str, value: Any, most: int) -> Pair:
    return Pair(clean(key[:KEY]), clamp(as_text(value), characters=most, lines=most // 40), isinstance(value, str))


_DONE = {"completed": "done", "done": "done", "in_progress": "doing", "inProgress": "doing"}


def todos_of(arguments: Any) -> list[Todo]:
    """A plan: ``todos`` (Claude Code, Gemini CLI) or ``plan`` (Codex), a list of texts with a status."""
    found = arguments.get("todos") or arguments.get("plan") if isinstance(arguments, dict) else None
    if not isinstance(found, list) or not all(isinstance(todo, dict) for todo in found):
        return []
    texts = [
        next((todo[key] for key in ("content", "step", "description") if isinstance(todo.get(key), str)), "")
        for todo in found
    ]
    states = [_DONE.get(str(todo.get("status")), "open") for todo in found]
    return [Todo(state, text) for state, text in zip(states[:TODOS], texts, strict=False) if text]


_NUMBERED = re.compile(r" {0,8}(\d{1,7})(?:→|\t)(.*)")


def _code(text: str) -> Code | None:
    """Lines that a tool numbered (``   12→``), or None when the text is something else."""
    shown = clamp(text, characters=TEXT, lines=LINES)
    found = [_NUMBERED.match(line) for line in shown.text.split("\n")]
    if len(found) < 2 or not all(found[:2]):
        return None
    lines = (
        Line(int(match[1]), match[2]) if match else Line(None, line)
        for match, line in zip(found, shown.text.split("\n"), strict=True)
    )
    return Code(tuple(lines), shown.cut, shown.characters)


SHOWN_ELSEWHERE = frozenset({"structuredPatch", "newTodos", "filePath", "file_path", "file", "isImage", "type"})


def _facts(result: Any, *, has_text: bool) -> Any:
    """A structured result without what the card shows already, and without its flags that are off."""
    if not isinstance(result, dict) or not has_text:
        return result
    return {
        key: value
        for key, value in result.items()
        if key not in SHOWN_ELSEWHERE and value not in (None, False, "", [], {})
    }
