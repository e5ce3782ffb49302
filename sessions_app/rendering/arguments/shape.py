"""The form in which a call's arguments are shown, what deceives in them, and what they destroy."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from .. import code_html, diff, toolbody, toolline
from ..numbers import duration
from ..text import first_line
from . import mail, money, odd, shell, sql
from .markup import shown, spans
from .summary import scalar
from .values import Writer

NODES, ALL_NODES = 600, 20_000
"""Values that are shown on a card among others, and on one that stands alone."""
_DELETES = re.compile(
    r"(?:^|[_\-. ])(?:delete|drop|destroy|purge|wipe|erase|truncate|terminate|revoke|remove|uninstall|rm|shutdown)"
    r"(?:$|[_\-. ])",
    re.IGNORECASE,
)
_FLAGS = (
    "force",
    "recursive",
    "dry_run",
    "dryRun",
    "auto_approve",
    "yes",
    "hard",
    "all",
    "overwrite",
    "delete",
    "purge",
)
_OF_A_TODO = {"content", "step", "status", "activeForm", "id", "priority"}
Form = Literal["html", "diff", "todos"]


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the card. ``value`` is HTML, a ``diff.FileDiff`` or a list of ``toolbody.Todo``."""

    form: Form
    value: Any

    @property
    def diff_lines(self) -> list[code_html.DiffLine]:
        """The rows of a diff that are shown."""
        return toolbody.diff_lines(self.value)


@dataclass(frozen=True, slots=True)
class Shape:
    """Arguments as they are shown. ``left_out`` says that not everything is."""

    line: toolline.ToolLine
    parts: list[Part]
    destroys: list[str] = field(default_factory=list)
    """Why it is approved in two steps: sentences, empty for calls that destroy nothing that one can see."""
    odd: list[str] = field(default_factory=list)
    left_out: bool = False


def shape_of(tool: str, arguments: Any, server: str | None = None, *, most: int, alone: bool = False) -> Shape:
    """Everything about the arguments of a call. ``most`` is the number of characters of one text that is shown."""
    writer = Writer(most, ALL_NODES, ALL_NODES) if alone else Writer(most, NODES)
    parts = _parts(tool, arguments, writer)
    return Shape(
        title_of(tool, arguments, server),
        parts,
        destroys(tool, arguments),
        odd.oddities(arguments),
        bool(writer.left_out),
    )


def title_of(tool: str, arguments: Any, server: str | None = None) -> toolline.ToolLine:
    """The call on one line, with what matters of it: the file and ±, what SQL writes, the flags of a deletion."""
    line = toolline.describe_call(tool, arguments, server)
    files, deleted = _diffs(tool, arguments), _deleted(arguments)
    if files or deleted:
        changed = [file for file in files if file.path not in ("/dev/null", *deleted)]
        lines = f"+{sum(file.added for file in files)} −{sum(file.removed for file in files)}" if files else ""
        gone = f"deletes {_names(deleted)}" if deleted else ""
        subject = " ".join(filter(None, (_names([file.path for file in changed]), lines)))
        return toolline.ToolLine(line.icon, line.verb, ", ".join(filter(None, (gone, subject))))
    if (query := _sql_in(arguments)) is not None:
        said = ", ".join(dict.fromkeys(str(write) for write in sql.writes(query))) or first_line(
            " ".join(query.split()), 120
        )
        return toolline.ToolLine(line.icon, line.verb, first_line(said, 160))
    if isinstance(arguments, dict) and line.icon in ("tool", "plug"):
        found = mail.mail_of(arguments)
        if found:
            head = dict(found.head)
            return toolline.ToolLine(line.icon, line.verb, first_line(f"{head['Subject']} to {head['To']}", 160))
        said, rest = money.stated(arguments)
        subject = _subject(toolline.describe_call(tool, rest, server).subject)
        flags = [f"{key} {scalar(arguments[key])}" for key in _FLAGS if isinstance(arguments.get(key), bool)]
        return toolline.ToolLine(line.icon, line.verb, "  ".join(filter(None, [said, subject, *flags])))
    return line


def destroys(tool: str, arguments: Any) -> list[str]:
    """Why a call is destructive, as far as its name and arguments tell."""
    found = [f"“{first_line(tool, 60)}” says that it deletes"] if _DELETES.search(_words(tool)) else []
    command = toolbody.command_of(tool, arguments) if isinstance(arguments, dict) else ""
    if command:
        found += [f"{first_line(command[start:end], 60)}: {why}" for start, end, why in shell.dangers(command)]
    if (query := _sql_in(arguments)) is not None:
        found += [
            f"{write}{'' if write.verb != 'UPDATE' else ' without WHERE'}"
            for write in sql.writes(query)
            if write.destroys
        ]
    return list(dict.fromkeys(found))[:8]


def _words(tool: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", tool)


def _subject(subject: str) -> str:
    return subject.replace("=", " ", 1) if re.match(r"^\w+=", subject) and "  " not in subject else subject


def _parts(tool: str, arguments: Any, writer: Writer) -> list[Part]:
    if arguments is None or arguments == {}:
        return []
    if files := _diffs(tool, arguments):
        rest = diff.beside(tool, arguments) if isinstance(arguments, dict) else {}
        return [Part("diff", file) for file in files] + ([Part("html", writer.rows(rest))] if rest else [])
    if not isinstance(arguments, dict):
        return [Part("html", _whole(arguments, writer))]
    if todos := _plan(arguments):
        rest = {key: value for key, value in arguments.items() if key not in ("todos", "plan")}
        return [Part("todos", todos)] + ([Part("html", writer.rows(rest))] if rest else [])
    if found := mail.mail_of(arguments):
        return [Part("html", _mail(found))] + ([Part("html", writer.rows(found.rest))] if found.rest else [])
    if command := toolbody.command_of(tool, arguments):
        told = toolbody.command_key_of(arguments)
        rest = {key: value for key, value in arguments.items() if key != told}
        return [Part("html", _code(spans(shell.tokens_of(command)), "command"))] + _rest_of_command(rest, writer)
    if (key := sql.key_of(arguments)) is not None:
        rest = {name: value for name, value in arguments.items() if name != key}
        code = Part("html", _code(spans(sql.tokens_of(arguments[key])), "sql"))
        return [code] + ([Part("html", writer.rows(rest))] if rest else [])
    return [Part("html", writer.rows(arguments))]


def _diffs(tool: str, arguments: Any) -> list[diff.FileDiff]:
    return diff.diffs_of_call(tool, arguments) if arguments is not None else []


def _deleted(arguments: Any) -> list[str]:
    patch = diff.patch_text(arguments if isinstance(arguments, dict) else {"patch": arguments})
    return diff.deleted_files(patch) if patch else []


def _names(paths: list[str]) -> str:
    """The first of some files, and how many more."""
    return first_line(paths[0], 120) + (f" and {len(paths) - 1} more" if len(paths) > 1 else "") if paths else ""


def _plan(arguments: dict[str, Any]) -> list[toolbody.Todo]:
    """A plan, where its lines say all of it: a list of things to make is no list of things to do."""
    lists = [arguments[key] for key in ("todos", "plan") if key in arguments]
    todos = toolbody.todos_of(arguments) if len(lists) == 1 else []
    return todos if todos and len(todos) == len(lists[0]) and all(set(one) <= _OF_A_TODO for one in lists[0]) else []


def _rest_of_command(rest: dict[str, Any], writer: Writer) -> list[Part]:
    """``timeout`` of a command is in milliseconds (Claude Code, Codex): said so."""
    timeout = rest.get("timeout")
    if isinstance(timeout, int) and not isinstance(timeout, bool) and timeout >= 1_000:
        rest = rest | {"timeout": f"{timeout:,} ms: {duration(timeout)}"}
    return [Part("html", writer.rows(rest))] if rest else []


def _whole(value: Any, writer: Writer) -> str:
    if isinstance(value, str):
        return _code(shown(value[: writer.most * 8]), "")
    return f'<div class="untrusted">{writer.value(value)}</div>'


def _mail(found: mail.Mail) -> str:
    head = "".join(f'<dt>{name}</dt><dd class="untrusted" dir="auto">{shown(text)}</dd>' for name, text in found.head)
    return f'<div class="mail"><dl>{head}</dl><div class="plain untrusted" dir="auto">{shown(found.body)}</div></div>'


def _code(inside: str, kind: str) -> str:
    return f'<pre class="code {kind} untrusted" tabindex="0">{inside}</pre>'


def _sql_in(arguments: Any) -> str | None:
    key = sql.key_of(arguments) if isinstance(arguments, dict) else None
    return arguments[key] if key else None
