"""A session of every format as a VAC record that the CDDL allows, and the same when it is read again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vcon_app import registry
from vcon_app.drafts import EventDraft, FormatError, SessionDraft

from ..reads import TRANSCRIPTS
from ..vcon.shape import vac_faults
from ..vcon_tools import CORPUS
from .tools import session_and_events, written

EACH = 3
"""Files of a format that are tried."""
LARGEST = 200_000


def files() -> list[Path]:
    folders = [
        *(TRANSCRIPTS.iterdir() if TRANSCRIPTS.exists() else ()),
        CORPUS / "llmfeed",
        CORPUS / "upg" / "examples",
    ]
    found: list[Path] = []
    for folder in sorted(folders):
        paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size < LARGEST]
        found += [path for path in paths if _is_known(path)][:EACH]
    return found


def _is_known(path: Path) -> bool:
    try:
        return bool(registry.detect(path))
    except FormatError:
        return False


@pytest.mark.skipif(not TRANSCRIPTS.exists(), reason="needs ../shared/corpus")
@pytest.mark.parametrize("path", files(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_session_of_any_format_is_a_valid_record(path: Path) -> None:
    with path.open("rb") as source:
        try:
            drafts = list(registry.get(registry.detect(source)[0]).read(source))
        except FormatError:
            pytest.skip("holds no session")
    log: dict[str, list[EventDraft]] = {}
    latest: dict[str, SessionDraft] = {}
    for draft in drafts:
        if isinstance(draft, SessionDraft):
            events, latest[draft.external_id] = log.setdefault(draft.external_id, []), draft
        elif isinstance(draft, EventDraft):
            events.append(draft)
    for name, events in list(log.items())[:EACH]:
        data = written(latest[name], events)
        assert vac_faults(json.loads(data)) == []
        again = session_and_events(data)[1]
        assert [(e.kind, e.text, e.cost) for e in again] == [(e.kind, e.text, e.cost) for e in events]
