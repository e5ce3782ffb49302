"""Every transcript of other people's agents is read for its files, and what is found is what a plain count finds."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from bench.formats.corpus import File, transcripts
from sessions_app.changes.calls import Call, changes_of
from sessions_app.changes.history import History
from sessions_app.changes.stated import stated
from tests.formats.corpus import TRANSCRIPTS, needs_corpus
from vcon_app import registry
from vcon_app.drafts import EventDraft, FormatError

pytestmark = needs_corpus


def calls_in(file: File) -> Iterator[tuple[EventDraft, EventDraft | None]]:
    """Calls of a file with their results, and changes that it states."""
    with (TRANSCRIPTS / file.entry["file"]).open("rb") as source:
        events = [draft for draft in registry.reader(file.format).read(source) if isinstance(draft, EventDraft)]
    results = {draft.parent: draft for draft in events if draft.kind == "tool_result"}
    results |= {draft.tool.call_id: draft for draft in events if draft.kind == "tool_result" and draft.tool}
    for draft in events:
        if draft.kind == "tool_call" and draft.tool:
            yield draft, results.get(draft.key) or (results.get(draft.tool.call_id) if draft.tool.call_id else None)
        elif draft.kind == "file_change":
            yield draft, None


def changes(draft: EventDraft, result: EventDraft | None) -> list[Any]:
    if draft.tool is None:
        return stated(draft.text, draft.data)
    told = (result.tool.result, result.text) if result and result.tool else (None, "")
    return changes_of(Call(draft.tool.name, draft.tool.arguments, *told))


def files(name: str) -> list[File]:
    found = [file for file in transcripts() if file.format == name]
    assert found
    return found


def test_every_file_is_read_and_put_together():
    kinds: Counter[str] = Counter()
    for file in transcripts():
        histories: dict[str, History] = {}
        try:
            found = list(calls_in(file))
        except FormatError:
            continue
        for version, (draft, result) in enumerate(found, start=1):
            for change in changes(draft, result):
                kinds[change.kind] += 1
                made = histories.setdefault(change.path, History())
                if change.kind == "seen":
                    continue
                made.apply(change, version)
                net = made.diff()
                assert all(number <= version for hunk in net.hunks for number in hunk.versions)
    assert kinds["edited"] > 50 and kinds["created"] and kinds["shell"] and kinds["stated"]


def test_edits_of_claude_code_are_those_that_stand_in_the_file():
    expected: dict[str, str] = {}
    found: dict[str, str] = {}
    for file in files("claude-code"):
        for record in _records(file):
            for block in _blocks(record):
                arguments = block.get("input")
                if block.get("type") == "tool_use" and block.get("name") in EDITS and isinstance(arguments, dict):
                    expected[block["id"]] = arguments.get("file_path") or arguments.get("notebook_path")
        for draft, result in calls_in(file):
            for change in changes(draft, result):
                if change.kind not in ("shell", "seen", "stated") and draft.tool:
                    found[draft.tool.call_id] = change.path
    assert len(expected) > 30
    assert found == {call: path for call, path in expected.items() if path}


def test_files_of_codex_patches_are_those_that_stand_in_the_file():
    expected: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for file in files("codex"):
        for record in _records(file):
            payload = record.get("payload", record) if isinstance(record, dict) else {}
            is_call = isinstance(payload, dict) and payload.get("type") in ("function_call", "custom_tool_call")
            if is_call and payload.get("name") == "apply_patch":
                text = str(payload.get("input") or payload.get("arguments") or "").replace("\\n", "\n")
                expected.update(re.findall(r"^\*\*\* (?:Add|Update|Delete) File: (.*?)\s*$", text, re.MULTILINE))
        for draft, result in calls_in(file):
            told = changes(draft, result) if draft.tool else []
            found.update(change.path for change in told if change.kind not in ("shell", "seen"))
    assert expected and found == expected


EDITS = ("Edit", "MultiEdit", "Write", "NotebookEdit")


def _records(file: File) -> list[Any]:
    """Records of a file, a line each, or all of them in one object."""
    text = (TRANSCRIPTS / file.entry["file"]).read_text(errors="replace")
    whole = _json(text)
    if isinstance(whole, dict) and "loglines" in whole:
        return list(whole["loglines"])
    return [record for line in text.splitlines() if (record := _json(line)) is not None]


def _json(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _blocks(record: Any) -> list[dict[str, Any]]:
    message = record.get("message") if isinstance(record, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
