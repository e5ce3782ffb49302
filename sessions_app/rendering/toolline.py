"""A tool call on one line: what it does, to what, and what came of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sessions_app.phrases import gettext as _
from sessions_app.phrases import joined, ngettext

from . import diff, numbers
from .text import first_line, in_quotes

MAX_SUBJECT = 160
PLAN = _("plan")
ASK = _("ask a person")
"""The verb of tools whose result is what a person answers."""
FETCH = _("fetch")
SENDS = {"POST", "PUT", "PATCH", "DELETE"}
"""Methods of requests that change something where they go: said in place of the verb."""


@dataclass(frozen=True, slots=True)
class ToolLine:
    """``icon`` names a picture (terminal, file, pencil, search, globe, agent, list, plug, tool)."""

    icon: str
    verb: str
    subject: str
    """The one argument a person would ask for; may be empty."""
    path: str = ""
    """The file that a call reads or writes, where that is what ``subject`` says."""


# Names of the tools of Claude Code, Codex, Gemini CLI, Cursor, Copilot and SWE-agent, without case, "_" and "-".
_KNOWN: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("terminal", _("run"), "command cmd script", (
        "bash", "shell", "exec", "execcommand", "localshell", "runshellcommand", "runterminalcmd", "runinterminal",
        "executebash", "terminal", "powershell")),
    ("file", _("read"), "file_path path absolute_path filename target_file notebook_path", (
        "read", "readfile", "view", "viewfile", "open", "cat", "readmanyfiles", "notebookread", "viewimage")),
    ("pencil", _("write"), "file_path path filename target_file", ("write", "writefile", "createfile", "create")),
    ("pencil", _("edit"), "file_path path filename target_file notebook_path", (
        "edit", "multiedit", "editfile", "replace", "strreplace", "strreplaceeditor", "strreplacebasededittool",
        "applypatch", "notebookedit", "searchreplace")),
    ("search", _("search"), "pattern query regex", (
        "grep", "ripgrep", "searchfilecontent", "grepsearch", "search", "codebasesearch", "toolsearch")),
    ("search", _("find"), "pattern glob path dir_path", (
        "glob", "ls", "listdir", "listdirectory", "filesearch", "find")),
    ("globe", FETCH, "url uri prompt", ("webfetch", "fetch", "fetchurl", "httprequest", "browse", "navigate")),
    ("globe", _("search the web"), "query q", ("websearch", "googlewebsearch", "searchweb")),
    ("agent", _("ask an agent"), "description subagent_type agent prompt", ("task", "agent", "delegate", "spawnagent")),
    ("list", PLAN, "", ("todowrite", "updateplan", "writetodos", "todoread", "taskcreate", "taskupdate")),
    ("agent", ASK, "question", ("askuserquestion", "askuser", "requestuserinput", "escalatetohuman")),
)  # fmt: skip
_BY_NAME = {name: (icon, verb, keys.split()) for icon, verb, keys, names in _KNOWN for name in names}
_TELLING = [
    "command", "cmd", "file_path", "path", "filename", "pattern", "query", "q", "url", "uri", "question", "prompt",
    "description", "name", "title", "id", "key",
]  # fmt: skip


_IDENTIFIER = re.compile(r"[\w.:/@#$+-]+")
"""What every program calls its tools. A name with blanks in it could be a sentence, and read as one of the desk's."""
# Between server and tool; the underscores around a name are the name's own (__proto__).
_BETWEEN = re.compile(r"(?<=[^\W_])__(?=[^\W_])")


def describe_call(name: str | None, arguments: Any, server: str | None = None) -> ToolLine:
    """The line for a call. An unknown tool is named, with its most telling argument or its first few."""
    icon, verb, keys = _by_name(name or "")
    verb = verb or _("unnamed tool")
    icon = "plug" if server else icon
    path = _path(arguments, keys) if verb in ("read", "write", "edit") else ""
    if verb == FETCH and isinstance(arguments, dict) and (method := str(arguments.get("method")).upper()) in SENDS:
        verb = method
    if verb == PLAN and (plan := _plan(arguments)):
        return ToolLine(icon, verb, plan)
    return ToolLine(icon, verb, first_line(path, MAX_SUBJECT) if path else _subject(arguments, keys), path)


def _plan(arguments: Any) -> str:
    """``2/5 · Read the tests``: how many steps of a plan are done, and the one it is at."""
    found = (arguments.get("todos") or arguments.get("plan")) if isinstance(arguments, dict) else None
    steps = [step for step in found if isinstance(step, dict)] if isinstance(found, list) else []
    left = [step for step in steps if step.get("status") not in ("completed", "done")]
    at = next((step for step in left if step.get("status") in ("in_progress", "inProgress")), next(iter(left), {}))
    text = next((at[key] for key in ("content", "step", "description") if isinstance(at.get(key), str)), "")
    done = f"{len(steps) - len(left)}/{len(steps)}" if steps else ""
    return " · ".join(part for part in (done, first_line(text, MAX_SUBJECT)) if part)


@lru_cache(maxsize=512)
def _by_name(name: str) -> tuple[str, str, list[str]]:
    """Icon, verb, and the arguments that tell most, the first first."""
    icon, verb, keys = _BY_NAME.get(re.sub(r"[_\-. ]", "", name).lower(), ("tool", "", _TELLING))
    if name.startswith("mcp__"):
        icon = "plug"
    return icon, verb or _BETWEEN.sub(" › ", name_in_words(name.removeprefix("mcp__"), 60)), keys


def name_in_words(name: str, limit: int = 200) -> str:
    """The name of a tool as it stands in a sentence: on one line, and in quotes where it is no identifier."""
    return first_line(name, limit) if _IDENTIFIER.fullmatch(name) else in_quotes(name, limit)


def question_of(name: str | None, arguments: Any, server: str | None = None) -> str:
    """The words of a question to a person, which is what the call is; empty for every other call."""
    asked = arguments.get("question") if isinstance(arguments, dict) else None
    is_question = describe_call(name, arguments, server).verb == ASK and not server
    return asked if is_question and isinstance(asked, str) else ""


def glance(
    text: str, result: Any = None, status: str | None = None, *, name: str | None = None, arguments: Any = None,
    lines: int | None = None, size: int | None = None,
) -> str:  # fmt: skip
    """What came of a call: ``+3 −1``, ``exit 1``, ``14 lines``, ``denied``; empty when there is nothing to say.

    ``lines`` is the number of lines of the result where ``text`` is only its beginning; ``size`` are its bytes where
    nobody counted them.
    """
    parts = [status] if status and status != "ok" else []
    if (code := _exit_code(result, text)) is not None:
        parts.append(_("exit %(code)s", code=code))
    if files := diff.diffs_of_call(name, arguments, result):
        parts.append(f"+{sum(f.added for f in files)} −{sum(f.removed for f in files)}")
    elif size:
        parts.append(numbers.size(size))
    elif text.strip():
        lines = lines or text.strip().count("\n") + 1
        many = ngettext("%(lines)s line", "%(lines)s lines", lines, lines=lines)
        parts.append(many if lines > 1 else first_line(text, 60))
    return joined(" · ", parts) if parts else ""


def _path(arguments: Any, keys: list[str]) -> str:
    """The path among arguments, or the file of a patch where it changes one."""
    arguments = arguments if isinstance(arguments, dict) else {"patch": arguments}
    named = next((arguments[key] for key in keys if isinstance(arguments.get(key), str) and arguments[key].strip()), "")
    if named or not (patch := diff.patch_text(arguments)):
        return named
    found = diff.files_of_patch(patch[:20_000])
    return found[0] if len(found) == 1 else ""


def _subject(arguments: Any, keys: list[str]) -> str:
    if not isinstance(arguments, dict):
        return first_line(arguments, MAX_SUBJECT) if isinstance(arguments, str) else ""
    for key in keys:
        if value := _scalar(arguments.get(key)):
            return first_line(value, MAX_SUBJECT)
    pairs = ((key, _scalar(value)) for key, value in list(arguments.items())[:20])
    shown = [f"{key}={first_line(value, 40)}" for key, value in pairs if value]
    return first_line("  ".join(shown[:3]), MAX_SUBJECT)


def _scalar(value: Any) -> str:
    """Text of a value that fits on a line; a list of words (an argument vector) is joined."""
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value[:50]):
        return " ".join(value[-1:] if value[0] in ("bash", "sh", "zsh") else value[:50])
    if isinstance(value, bool) or value is None:
        return ""
    return str(value) if isinstance(value, (str, int, float)) else ""


_EXIT = re.compile(r"(?:exit code|exited with(?: code)?)\W{0,3}(-?\d{1,5})\b", re.IGNORECASE)


def _exit_code(result: Any, text: str) -> int | None:
    """The exit code a result states, when it is not 0."""
    places = [result, result.get("metadata")] if isinstance(result, dict) else []
    for place in places:
        for key in ("exit_code", "exitCode", "returncode"):
            code = place.get(key) if isinstance(place, dict) else None
            if isinstance(code, int) and not isinstance(code, bool):
                return code or None
    match = _EXIT.search(text[:300])
    return (int(match[1]) or None) if match else None
