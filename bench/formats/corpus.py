"""The files of other people in ../shared/corpus, what was counted in them independently, and what our readers count.

Used by ``bench.formats.numbers`` and by the tests of the formats. Pure: no database, no Django.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from vcon_app import registry
from vcon_app.drafts import Draft, EventDraft, FormatError, Usage
from vcon_app.formats.common.head import SIZES, Head
from vcon_app.formats.common.lines import Line
from vcon_app.formats.common.records import records as framed

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
TRANSCRIPTS = CORPUS / "transcripts"
OPAQUE = ("sealed.bin",)
"""Files in no format."""
FOLDERS = {"claude-ai-export": "claude-export", "openai-api": "openai-chat", "otel-genai-langfuse": "langfuse"}
"""Folders of transcripts that are called otherwise than the format."""
NAMES = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write": "cache_write_tokens",
    "reasoning": "reasoning_tokens",
}
"""Counts of the manifest and of a ``Usage``."""


@dataclass(frozen=True)
class File:
    """A file of the corpus, the format it is in, and what its manifest says of it."""

    name: str
    """Path below the corpus."""
    format: str
    entry: dict[str, Any] = field(default_factory=dict)

    @property
    def data(self) -> bytes:
        return (CORPUS / self.name).read_bytes()


@dataclass(frozen=True)
class Difference:
    """Where the manifest is wrong: what is to be added to its count, or ``unclaimed``, and why."""

    file: str
    """How the name of the file ends."""
    why: str
    add: dict[str, int] = field(default_factory=dict)
    unclaimed: bool = False


DIFFERENCES = (
    Difference(
        "claude-code/Dicklesworthstone__coding_agent_session_search/empty_session.jsonl",
        "its one line has neither type, id nor message: it is an event nobody knows, and nothing of Claude Code's",
        {"records": 1},
        unclaimed=True,
    ),
    Difference(
        "98b76fb9-f5d3-40c5-ab82-b970c20e3764.jsonl",
        "a <synthetic> message of 0 tokens is no request: Claude Code wrote it itself and nothing was billed",
        {"requests": -1},
    ),
    Difference(
        "2025-05-12T20-27-36-04-00_browser.json",
        "total_tokens 15,516 is input 15,235 + output 281: what was read from the cache is part of the input",
        {"input": -9088},
    ),
    Difference(
        "langgraph-js-2025-10-30.trace.json",
        "total 278 is input 179 + output 35 + output_reasoning 64, each with a price: 99 tokens of output were billed",
        {"output": 64, "reasoning": 64},
    ),
    Difference(
        "ag-ui/ag-ui-protocol__ag-ui/events.json",
        "one call stands only in a MESSAGES_SNAPSHOT, and TOOL_CALL_START alone was counted; nor was a RAW or CUSTOM",
        {"tool_calls": 1, "records": 2},
    ),
    Difference(
        "run-events.json",
        "an entry states 55 cached tokens among 11 of input, which would leave -44: they are not among them",
        {"input": 55},
    ),
    Difference(
        "test_tools_streaming_variant_c-1.response.sse",
        'its first chunk stands behind a blank (" data: {…"), and is a chunk all the same',
        {"records": 1},
    ),
)  # fmt: skip
ONE_BY_ONE = ("claude-code", "opencode")
"""Formats that tell of each response to the model, and whose manifest counts them."""
SUFFIXES = (".json", ".vcon", ".gz", ".cbor", ".jsonl", ".upg")
FURTHER = "more-agents"
"""Folder of files of further agents."""
IN_THE_SHAPE_OF = {
    "copilot-vscode": "copilot-cli", "droid-stream": "droid", "iflow": "claude-code", "kilo-code": "cline-classic",
    "kiro-cli-sqlite": "kiro", "kiro-ide": "kiro", "openclaw": "pi", "qoder": "claude-code",
    "roo-code": "cline-classic", "specstory-md": "specstory",
}  # fmt: skip
"""Agents among those whose files are read by the format of another."""
LISTS = ("manifest.jsonl", "expected.json", "validator-results.json")
"""Files of the corpus about other files of it."""
FRAGMENTS = tuple(f"spec-v2-{number}.json" for number in ("06", "08", "09", "10"))
"""Parts of a feed out of a text: no feed_type, so nothing that could be recognised."""
NATIVE = {"claude": "claude-code", "codex": "codex", "cursor": "cursor", "gemini": "gemini-cli"}
"""Logs of tools beside the vCons: what a name begins with, and the format."""
COMMANDS_ARE_CALLS = "mini-swe-agent"
"""Its manifest reads plain chats, in which a command in a code block is text; the agent runs each as its only tool."""


# --- which files there are ---


@cache
def transcripts() -> tuple[File, ...]:
    """Files of the manifest, by name."""
    path = TRANSCRIPTS / "manifest.jsonl"
    entries = [json.loads(line) for line in (path.read_text().splitlines() if path.exists() else ())]
    folders = ((entry, entry["file"].split("/")[0]) for entry in entries)
    found = (File(f"transcripts/{entry['file']}", FOLDERS.get(name, name), entry) for entry, name in folders)
    return tuple(sorted(found, key=lambda file: file.name))


@cache
def further() -> tuple[File, ...]:
    """Files of further agents, with the one format here that may claim each."""
    path = CORPUS / FURTHER / "manifest.jsonl"
    entries = [json.loads(line) for line in (path.read_text().splitlines() if path.exists() else ())]
    names = FOLDERS | IN_THE_SHAPE_OF
    return tuple(File(f"{FURTHER}/{one['file']}", names.get(one["format"], one["format"]), one) for one in entries)


@cache
def records_of_standards() -> tuple[File, ...]:
    """Files of the formats that are specified somewhere, and the logs of tools that lie beside them."""
    found = (File(name, format) for name in heads() if (format := _format_of(Path(name))))
    return tuple(found)


def _format_of(path: Path) -> str | None:
    """The format of a file by the folder that it was put in; None for keys, schemas, media and lists."""
    top, folder = path.parts[0], path.parts[1]
    if folder.startswith("_") or path.suffix not in SUFFIXES or path.name in LISTS:
        return None
    if folder == "vac-native-logs":
        return next(format for start, format in NATIVE.items() if path.name.startswith(start))
    if folder == "vac-derived" or path.name.endswith((".vac.json", "bare-vac.json")):
        return "vac"
    if top == "upg":
        return "upg" if folder == "examples" else None
    if top == "llmfeed":
        return "llmfeed" if folder != "schema" and path.name not in FRAGMENTS else None
    return "vcon" if top in ("vcon-real", "vcon-spec-examples") else None


def file_of(entry: dict[str, Any]) -> File:
    """The file that an entry of the manifest is about."""
    return next(file for file in transcripts() if file.entry is entry)


def entries(folder: str) -> list[dict[str, Any]]:
    """What the manifest says of the files of one folder, by file name; empty where the corpus is not there."""
    return [file.entry for file in transcripts() if file.entry["file"].startswith(f"{folder}/")]


@cache
def heads() -> dict[str, Head]:
    """The first bytes of every file of the corpus, by its name."""
    paths = (path for path in sorted(CORPUS.rglob("*")) if path.is_file() and path.name not in OPAQUE)
    return {path.relative_to(CORPUS).as_posix(): head_of(path) for path in paths}


def head_of(path: Path) -> Head:
    with path.open("rb") as source:
        return Head(source.read(SIZES[0]))


@cache
def claims(name: str) -> tuple[str, ...]:
    """Names of all formats that claim a file of the corpus, alone or with others."""
    try:
        return (registry.detect(CORPUS / name)[0],)
    except registry.Ambiguous as error:
        return tuple(error.names)
    except FormatError:
        return ()


# --- what is counted in drafts ---


def events_of(drafts: list[Draft]) -> list[EventDraft]:
    return [draft for draft in drafts if isinstance(draft, EventDraft)]


def calls_in(drafts: list[Draft]) -> int:
    return sum(event.kind == "tool_call" for event in events_of(drafts))


def responses(drafts: list[Draft]) -> list[Usage]:
    """One usage a response, as the log's projection chooses it: the last one with the greatest output."""
    best: dict[str, Usage] = {}
    for number, event in enumerate(events_of(drafts)):
        if event.usage:
            key = event.request or f"#{number}"
            if key not in best or (event.usage.output_tokens or 0) >= (best[key].output_tokens or 0):
                best[key] = event.usage
    return list(best.values())


def tokens_in(drafts: list[Draft]) -> dict[str, int]:
    """Sums under the names of the manifest."""
    found = responses(drafts)
    return {name: sum(getattr(usage, field) or 0 for usage in found) for name, field in NAMES.items()}


def expected(entry: dict[str, Any]) -> dict[str, int]:
    """Counts as they have to be: those of the manifest, mended where it is shown to be wrong.

    Where the meaning of a count differs from ours it is translated: OpenCode's output leaves its reasoning out.
    """
    names = ("records", "tool_calls", *(("requests",) if entry["format"] in ONE_BY_ONE else ()))
    counts = {name: entry[name] for name in names if name in entry} | entry.get("tokens", {})
    for difference in DIFFERENCES:
        if entry["file"].endswith(difference.file):
            counts |= {
                name: counts[name] + more for name, more in difference.add.items() if counts.get(name) is not None
            }
    if entry["format"] == "opencode":
        counts["output"] += counts["reasoning"]
    if entry["format"] == "ag-ui":
        del counts["reasoning"]  # part of the output; it has 0 for files that state it
    if entry["format"] == "openai-api":
        counts["tool_calls"] += calls_in_the_input(entry)
    return counts


def calls_in_the_input(entry: dict[str, Any]) -> int:
    """The manifest counts the calls that a request of the chat API repeats, and not those that a request of the
    Responses API does, though both stand in the file in the same way."""
    if "responses-request" not in entry["exercises"]:
        return 0
    given = json.loads((TRANSCRIPTS / entry["file"]).read_bytes())["input"]
    return sum(item.get("type") == "function_call" for item in given)


def miscounted(file: File, drafts: list[Draft]) -> dict[str, tuple[int, int]]:
    """What is counted otherwise than it has to be: ours and theirs."""
    theirs, ours = expected(file.entry), counted(file, drafts)
    return {name: (ours[name], theirs[name]) for name in theirs if name in ours and ours[name] != theirs[name]}


def counted(file: File, drafts: list[Draft]) -> dict[str, int]:
    """Our counts under the same names; of a format in which each command is a call, its calls are not compared."""
    counts = {"records": RECORDS.get(file.format, _places)(file, events_of(drafts)), "tool_calls": calls_in(drafts)}
    if file.format == COMMANDS_ARE_CALLS:
        del counts["tool_calls"]
    if file.format in ONE_BY_ONE:
        counts["requests"] = len(responses(drafts))
    return counts | (tokens_in(drafts) if "tokens" in file.entry else {})


# --- what a record is, by format ---


def _places(file: File, events: list[EventDraft]) -> int:
    return len({event.pointer for event in events})


def _lines(file: File, events: list[EventDraft]) -> int:
    return len({event.offset for event in events})


def _messages(file: File, events: list[EventDraft]) -> int:
    return len({event.pointer.partition("/content/")[0] for event in events})


def _below(prefix: str, parts: int) -> Callable[[File, list[EventDraft]], int]:
    """Different places right below a list of the document."""

    def count(file: File, events: list[EventDraft]) -> int:
        return len({"/".join(e.pointer.split("/")[:parts]) for e in events if e.pointer.startswith(prefix)})

    return count


def _observations(file: File, events: list[EventDraft]) -> int:
    return len({event.pointer for event in events if "/observations/" in event.pointer})


SAID = ("system", "user_message", "agent_message", "model_request", "tool_result")


def _said(file: File, events: list[EventDraft]) -> int:
    return sum(event.depth == 0 and event.kind in SAID for event in events)


def _chunks(file: File, events: list[EventDraft]) -> int:
    """Of a stream, many records become one event: what the reader is given is counted, of one object its places."""
    given = sum(isinstance(item, Line) for item in framed(BytesIO(file.data), file.format))
    return given if given > 1 else _places(file, events)


def _scenarios(file: File, events: list[EventDraft]) -> int:
    """AG-UI: a stream, or an object with a stream under each name."""
    values = [item.value for item in framed(BytesIO(file.data), file.format) if isinstance(item, Line)]
    return len(values) if len(values) > 1 else sum(len(value) for value in values[0].values())


RECORDS: dict[str, Callable[[File, list[EventDraft]], int]] = {
    **dict.fromkeys(("claude-code", "codex", "copilot-cli", "cursor", "qwen-code", "opencode"), _lines),
    **dict.fromkeys(("chatgpt-export", "claude-export"), _messages),
    "gemini-cli": _below("/messages/", 3),
    "atif": _below("/steps/", 3),
    "swe-agent": _below("/trajectory/", 4),
    "langfuse": _observations,
    "inspect": _said,
    "openai-chat": _chunks,
    "ag-ui": _scenarios,
}


def some(names: Sequence[str] = (), step: int = 1, first: int = 0) -> Iterator[File]:
    """Files of some formats (all, when none is named): every ``step``-th of each from ``first`` on."""
    by_format: dict[str, list[File]] = {}
    for file in (*transcripts(), *records_of_standards()):
        if not names or file.format in names:
            by_format.setdefault(file.format, []).append(file)
    for files in by_format.values():
        yield from files[first::step]
