"""Files of other people's tools, where they are present: every oracle that was worked out for them by hand."""

import json
from collections import Counter

import pytest

from vcon_app.drafts import FormatError
from vcon_app.formats import vcon
from vcon_app.formats.common.head import Head

from ..vcon_tools import CORPUS, Losses, drafts, events, findings, model, needs_corpus, sessions, written
from .shape import core_faults, vac_faults

pytestmark = needs_corpus
MADE = CORPUS / "vcon-spec-examples" / "made-here"
ALL = sorted(
    path for top in ("vcon-real", "vcon-spec-examples") for path in (CORPUS / top).glob("*/*") if path.is_file()
)
TOLD = ("file_change", "artifact")


def of_the_trace(found):
    """Events beside those of attachments."""
    return [event for event in events(found) if event.kind not in TOLD]


def test_the_draft_example_pairs_through_its_parents():
    found = drafts((CORPUS / "vcon-spec-examples/howe-agent-session-00/paired-agent-session.json").read_bytes())
    told = of_the_trace(found)
    calls = {event.key for event in told if event.kind == "tool_call"}

    assert Counter(event.kind for event in told) == {
        "user_message": 2, "agent_message": 3, "reasoning": 2, "tool_call": 5, "tool_result": 5,
    }  # fmt: skip
    assert {event.parent for event in told if event.kind == "tool_result"} == calls
    assert sum("dialog" in event.data["vcon"] for event in told) == 5


VAC = {
    "claude-opus-4-6.first40": (55, 1, 15, 15, 2, 0, 1), "codex-gpt-5-2.first60": (60, 1, 10, 10, 0, 14, 21),
    "cursor-composer-1-5": (17, 1, 0, 0, 0, 0, 0), "gemini-gemini-3-pro-preview": (162, 1, 39, 39, 0, 60, 0),
}  # fmt: skip


def in_a_vcon(record):
    meta = {"agent_session": {"model_id": "m", "provider": "p"}}
    agent = {"type": "bot", "role": "agent", "name": "a", "meta": meta}
    item = {"type": "agent_trace", "dialog": [], "vendor": "v", "mediatype": "application/json", "encoding": "json"}
    return {"uuid": "0199d2aa-4c00-8b1e-9f3c-5a1d0e7b2c01", "created_at": "2026-01-01T00:00:00Z",
            "parties": [{}, agent],
            "analysis": [{**item, "body": record}]}  # fmt: skip


@pytest.mark.parametrize(("name", "counts"), VAC.items())
def test_translated_logs_have_the_counts_of_the_manifest(name, counts):
    path = CORPUS / "vcon-spec-examples/vac-derived" / f"{name}.vac.json"
    record = json.loads(path.read_text())
    found = drafts(in_a_vcon(record))
    kinds = Counter(event.kind for event in events(found))
    errors = sum(event.tool.status == "error" for event in events(found) if event.kind == "tool_result")

    assert counts == (len(events(found)), kinds["user_message"], kinds["tool_call"], kinds["tool_result"], errors,
                      kinds["reasoning"], kinds["system"])  # fmt: skip
    assert findings(found, "R72") == []


@pytest.mark.parametrize("name", VAC)
def test_a_translated_log_comes_out_as_it_went_in_but_for_ids_it_lacked(name):
    record = json.loads((CORPUS / "vcon-spec-examples/vac-derived" / f"{name}.vac.json").read_text())
    ((draft, held),) = sessions(drafts(in_a_vcon(record)))
    losses = Losses()
    again = json.loads(written(draft, held, losses))["analysis"][0]["body"]

    assert losses.rows() == []
    assert again["session"].pop("x-generated-ids", True) is True
    stated = {"model-id": "m", "model-provider": "p"}  # by the party, where the trace says that it does not know
    about = record["session"]["agent-meta"]
    about |= {name: value for name, value in stated.items() if about.get(name) == "unknown"}
    assert _without_made_ids(again, record) == record


def _without_made_ids(new, old):
    """``new`` without the ids that ``old`` has not."""
    if isinstance(new, dict) and isinstance(old, dict):
        return {k: _without_made_ids(v, old.get(k)) for k, v in new.items() if k in old or k != "id"}
    if isinstance(new, list) and isinstance(old, list):
        return [_without_made_ids(a, b) for a, b in zip(new, old, strict=True)]
    return new


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_any_file_gives_drafts_or_a_clean_refusal_and_comes_out_again(path):
    data = path.read_bytes()
    recognised = vcon.detect(Head(data))
    try:
        found = drafts(data)
    except FormatError as refusal:
        assert len(str(refusal)) > 20
        return
    assert recognised
    for draft, held in sessions(found):
        losses = Losses()
        document = written(draft, held, losses)
        again = drafts(document)
        dialect = draft.metadata["vcon"]["dialect"]
        if dialect == "D1" and not losses.rows():
            assert list(map(model, held)) == list(map(model, events(again)))
        for item in json.loads(document)["analysis"]:
            if item.get("type") == "agent_trace" and not findings(found, "R67") and item["encoding"] == "json":
                assert vac_faults(item["body"]) == []


def test_an_export_is_sound_where_the_file_was():
    checked = 0
    for path in [*MADE.glob("f0*.json"), *(CORPUS / "vcon-real/OR13__vcon-trajectories").glob("*")]:
        try:
            found = drafts(path.read_bytes())
        except FormatError:
            continue
        for draft, held in sessions(found):
            assert core_faults(json.loads(written(draft, held))) == []
            checked += 1
    assert checked > 12


ORDERED = CORPUS / "vcon-real/OR13__vcon-trajectories/agent-session-claude-code.vcon.json"


@pytest.mark.skipif(not ORDERED.exists(), reason="this file is not in the corpus")
def test_dialogs_without_ids_join_by_text_and_order():
    found = drafts(ORDERED.read_bytes())
    kinds = Counter(event.kind for event in events(found))

    assert (len(events(found)), kinds["user_message"], kinds["tool_call"]) == (60, 2, 24)
    assert sum("dialog" in event.data["vcon"] for event in events(found)) == 12
    assert findings(found, "R75")
