"""Words of a file that nobody would find again: strings in no event, no fact of the session and no other part of it.

``python -m bench.seeds.words [FILE ...]`` reads files (by default vCons, product graphs and feeds of the corpus) and
prints how many of their strings of 20 or more characters are shown, with the places of the first that are not.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.formats.corpus import CORPUS
from vcon_app.drafts import EventDraft, FormatError, SessionDraft
from vcon_app.formats import llmfeed, upg, vcon
from vcon_app.formats.common.head import Head
from vcon_app.formats.common.times import parse
from vcon_app.formats.file_parts import VALUE_LIMIT, parts_of

READERS = (vcon, upg, llmfeed)
FOLDERS = ("vcon-spec-examples", "vcon-real", "upg", "llmfeed")
SHORTEST = 20
PROOFS = ("/signatures", "/signature", "/payload", "/$upg/integrity", "/_integrity")
BINARY = re.compile(r"[A-Za-z0-9+/_-]{200,}={0,2}")
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
    """Long strings that no event, fact or part shows; None for what is no session of these formats."""
    reader = next((one for one in READERS if one.detect(Head(data))), None)
    try:
        document = json.loads(data)
        drafts = list(reader.read(io.BytesIO(data))) if reader else []
    except (ValueError, FormatError, RecursionError):
        return None
    if reader is None or not any(isinstance(one, SessionDraft) for one in drafts):
        return None
    shown = _shown(drafts, reader.SPEC.name)
    words = ((place, text) for place, text in strings_of(document) if not _is_no_text(place, text))
    return [(place, text) for place, text in words if not _is_found(text, shown)]


def _is_no_text(place: str, text: str) -> bool:
    """A signature, a seal, a time or bytes, which pages show in a form of their own."""
    return place.startswith(PROOFS) or bool(BINARY.fullmatch(text)) or parse(text)[0] is not None


def _is_found(text: str, shown: str) -> bool:
    """As it stands; of JSON in a string each of its own strings; of a text in pieces, each line."""
    if text[:VALUE_LIMIT] in shown:  # what is longer is cut on the page, which says so
        return True
    if text[:1] in "{[":
        try:
            inner = [one for place, one in strings_of(json.loads(text)) if not _is_no_text(place, one)]
            return all(_is_found(one, shown) for one in inner)
        except ValueError:
            pass
    return all(line.strip() in shown for line in text.split("\n"))


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
        total += sum(1 for _ in strings_of(json.loads(data)))
        hidden += len(missing)
        for place, text in missing[:3]:
            print(f"{path.name}: {place[:120]}: {text[:60]!r}")
    print(f"{read} files, {total:,} strings of {SHORTEST} or more characters, {hidden:,} shown nowhere")
    return 1 if hidden else 0


if __name__ == "__main__":
    sys.exit(main([Path(name) for name in sys.argv[1:]] or files()))
