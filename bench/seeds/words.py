"""Words of a file that nobody would find again: strings in no event, no fact of the session and no other part of it.

``python -m bench.seeds.words [FILE ...]`` reads files (by default vCons, product graphs and feeds of the corpus, and
files of further agents) and prints how many of their strings of 20 or more characters are shown, with the places of the
first that are not. What is left out of the count in transcripts, and why, stands in ``REASONS``.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from bench.formats.corpus import CORPUS, FURTHER
from vcon_app import registry
from vcon_app.drafts import EventDraft, FormatError, SessionDraft
from vcon_app.formats.common.times import parse
from vcon_app.formats.file_parts import VALUE_LIMIT, parts_of

RECORDS = ("vcon", "upg", "llmfeed")
"""Formats of which every string has to be shown, ids too."""
FOLDERS = ("vcon-spec-examples", "vcon-real", "upg", "llmfeed", FURTHER)
SHORTEST = 20
PROOFS = ("/signatures", "/signature", "/payload", "/$upg/integrity", "/_integrity")
AROUND = re.compile(r"</?[A-Za-z][\w-]*>$|^\[[^\]]{1,60}\] ")
"""A tag on a line of its own, or a stamp before words, which programs put there and readers take off."""
BINARY = re.compile(r"[A-Za-z0-9+/_-]{200,}={0,2}")
REASONS = {
    r"/(type|kind|method)$": "what a record is: pages say it in words of their own",
    r"/(tools|tool_definitions)/|/toolCalls/\d+/description$": "definitions of tools that were offered to the model",
    r"[Ss]ignature$|/encrypted_content$": "proofs",
    r"^/transcript/|/model_response/|/promptLogs/|/editorState/": "words that another member says, too",
    r"/history/\d+/message$": "an action of OpenHands V0 in a sentence of its own making",
    r"/(originalFile|originalContent|newContent)$": "a file before and after an edit, which is shown",
    r"/slug$|/(requests|v)/\d+/agent/|/requesterAvatarIconUri/": "names and pictures of an editor",
    r"/(tooltip|agentId|modelDescription|markdownBeforeBlock)$|/variables/\d+/id$": "labels of an editor",
    r"/(generatedTitle|toolCallRounds/\d+/response|pastTenseMessage/value)$": "what a screen made of shown words",
}
"""Places in transcripts whose strings nobody looks for, and why."""
LINK = re.compile(r"(?=[^\d]*\d)[A-Za-z0-9_:|+=-]+")
"""Ids that link records of a transcript: links are shown as links."""
LARGEST = 1_000_000
"""Bytes of a file that is tried: in larger ones long strings stay in the original file."""


def strings_of(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Place and text of each long string of a document."""
    stack = [(place, value)]
    while stack:
        at, one = stack.pop()
        if isinstance(one, dict):
            stack += [(f"{at}/{name}", item) for name, item in one.items()]
        elif isinstance(one, list):
            stack += [(f"{at}/{number}", item) for number, item in enumerate(one)]
        elif isinstance(one, str) and len(one) >= SHORTEST:
            yield at, one


def lost(data: bytes) -> list[tuple[str, str]] | None:
    """Long strings that no event, fact or part shows; None for what is no session, or no JSON."""
    documents = _documents(data)
    try:
        name = registry.detect(io.BytesIO(data))[0]
        drafts = list(registry.reader(name).read(io.BytesIO(data)))
    except (FormatError, RecursionError):
        return None
    if not documents or not any(isinstance(one, SessionDraft) for one in drafts):
        return None
    shown = _shown(drafts, name)
    words = [pair for at, one in documents for pair in strings_of(one, at) if not _is_no_text(*pair)]
    if name not in RECORDS:
        words = [(place, text) for place, text in words if not _has_reason(place, text)]
    return [(place, text) for place, text in words if not _is_found(text, shown)]


def _documents(data: bytes) -> list[tuple[str, Any]]:
    """The documents of a file with their places: one, or one a line; none where it is no JSON."""
    try:
        return [("", json.loads(data))]
    except (ValueError, RecursionError):
        pass
    found = []
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
        try:
            found.append((f"L{number}", json.loads(line)))
        except (ValueError, RecursionError):
            continue
    return [(place, value) for place, value in found if isinstance(value, (dict, list))]


def _has_reason(place: str, text: str) -> bool:
    return any(re.search(where, place) for where in REASONS) or bool(LINK.fullmatch(text)) or text.startswith("data:")


def _is_no_text(place: str, text: str) -> bool:
    """A signature, a seal, a time or bytes, which pages show in a form of their own."""
    return place.startswith(PROOFS) or bool(BINARY.fullmatch(text)) or parse(text)[0] is not None


def _is_found(text: str, shown: str) -> bool:
    """As it stands; of JSON in a string each of its own strings; of a text in pieces, each line."""
    if text[:VALUE_LIMIT].removesuffix("...") in shown:  # what is longer is cut on the page; a half text goes on later
        return True
    if text.startswith("file://") and unquote(text.removeprefix("file://")) in shown:
        return True
    if text[:1] in '{["':
        try:
            inner = [one for place, one in strings_of([json.loads(text)]) if not _is_no_text(place, one)]
            return all(_is_found(one, shown) for one in inner)
        except ValueError:
            pass
    return all(AROUND.sub("", line.strip(), count=1) in shown for line in text.split("\n"))


def _shown(drafts: list[Any], name: str) -> str:
    """Everything that pages show of a session, as one text."""
    words: list[str] = []
    for draft in drafts:
        if isinstance(draft, EventDraft):
            tool = draft.tool
            of_tool = [tool.name, tool.server, tool.call_id, tool.arguments, tool.result] if tool else []
            known = [
                draft.text,
                draft.actor_name,
                draft.model,
                draft.request,
                draft.key,
                draft.at,
                draft.data,
                *of_tool,
            ]
            words += _texts(known)
        elif isinstance(draft, SessionDraft):
            known = [draft.title, draft.summary, draft.external_id, draft.user_id, draft.agent_name, draft.metadata]
            words += _texts([*known, draft.started_at, draft.ended_at, list(draft.tags), draft.model])
            words += [value.text for part in parts_of(name, draft.record) for value in part.values]
        else:
            words += _texts([getattr(draft, member, "") for member in ("message", "detail", "signer")])
    return "\n".join(words)


def _texts(value: Any) -> Iterator[str]:
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            stack += [*one.keys(), *one.values()]
        elif isinstance(one, (list, tuple)):
            stack += one
        elif isinstance(one, str):
            yield one
        elif one is not None:
            yield str(one)


def files() -> list[Path]:
    """Files of the corpus that may hold one of these formats, always in the same order."""
    found = (path for folder in FOLDERS for path in sorted((CORPUS / folder).rglob("*")))
    return [path for path in found if path.is_file() and path.stat().st_size <= LARGEST]


def main(paths: list[Path]) -> int:
    total = hidden = read = 0
    for path in paths:
        data = path.read_bytes()
        missing = lost(data)
        if missing is None:
            continue
        read += 1
        total += sum(1 for at, one in _documents(data) for _ in strings_of(one, at))
        hidden += len(missing)
        for place, text in missing[:3]:
            print(f"{path.name}: {place[:120]}: {text[:60]!r}")
    print(f"{read} files, {total:,} strings of {SHORTEST} or more characters, {hidden:,} shown nowhere")
    return 1 if hidden else 0


if __name__ == "__main__":
    sys.exit(main([Path(name) for name in sys.argv[1:]] or files()))
