"""JSON bodies written as text, for older readers, are read as the same session (R51, R52)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vcon_app.drafts import FormatError
from vcon_app.formats import vcon

from ..vcon_tools import CORPUS, SAMPLES, drafts, model, needs_corpus, sample, sessions, written
from .shape import core_faults

MOST = 200_000
"""Bytes of a file of the corpus that is tried."""


def both_ways(draft, held):
    return [written(draft, held, bodies=bodies) for bodies in ("json", "string")]


def models(data: bytes):
    return [[model(event) for event in found] for _, found in sessions(drafts(data))]


@pytest.mark.parametrize("name", sorted(path.name for path in SAMPLES.glob("*.vcon")))
def test_both_body_forms_give_the_same_session(name):
    ((draft, held),) = sessions(drafts(sample(name)))
    as_json, as_text = both_ways(draft, held)
    assert models(as_text) == models(as_json)
    assert core_faults(json.loads(as_text)) == core_faults(json.loads(as_json)) == []


def test_body_forms_differ_only_in_the_bodies():
    ((draft, held),) = sessions(drafts(sample("night-rota.vcon")))
    as_json, as_text = (json.loads(data) for data in both_ways(draft, held))
    for part in ("analysis", "attachments"):
        for one, other in zip(as_json[part], as_text[part], strict=True):
            if "body" in one and not isinstance(one["body"], str):
                other["body"] = json.loads(other["body"])
    assert as_text == as_json


def test_a_json_body_without_a_media_type_is_marked_as_json_in_either():
    document = sample("suitcase.call.vcon")
    document["analysis"] = [{"type": "mood", "vendor": "v", "body": {"calm": 3}, "encoding": "json"}]
    document["attachments"] = [{"purpose": "crm", "body": {"id": 7}, "encoding": "json"}]
    ((draft, held),) = sessions(drafts(document))
    for data in both_ways(draft, held):
        made = json.loads(data)
        assert [item["mediatype"] for part in ("analysis", "attachments") for item in made[part]] == [
            "application/json"
        ] * 2


@needs_corpus
def test_real_files_are_the_same_either_way():
    tried = [found for path in _real() if (found := _sessions_of(path))]
    assert len(tried) > 80
    different = [
        path.name for path, draft, held in tried if len({str(models(one)) for one in both_ways(draft, held)}) > 1
    ]
    assert different == []


def _real() -> list[Path]:
    folders = (CORPUS / "vcon-spec-examples", CORPUS / "vcon-real")
    found = [path for folder in folders for path in folder.rglob("*.json")]
    return sorted(path for path in found if path.stat().st_size <= MOST)


def _sessions_of(path: Path):
    """The first session of a file that is a vCon, with its events."""
    try:
        with path.open("rb") as source:
            found = sessions(list(vcon.read(source)))
    except FormatError:
        return None
    return (path, *found[0]) if found else None
