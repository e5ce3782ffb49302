"""Real dumps, where they are present: nothing fails, and the counts are those made independently."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from bench.corpus import file_of, miscounted
from vcon_app.drafts import EventDraft, SessionDraft
from vcon_app.formats import opencode

from .corpus import (
    TRANSCRIPTS,
    by_file,
    claimed_of_others,
    drafts_in,
    events_of,
    head_of,
    needs_corpus,
    responses,
    rules_of,
)

pytestmark = needs_corpus


@by_file("opencode")
def test_calls_responses_and_tokens_are_those_of_the_manifest(entry: dict[str, Any]) -> None:
    drafts = drafts_in(opencode, entry)
    assert miscounted(file_of(entry), drafts) == {}
    assert len(responses(drafts)) == entry["requests"]


@by_file("opencode")
def test_stated_costs_add_up_to_a_millionth(entry: dict[str, Any]) -> None:
    costs = {event.request: event.cost for event in events_of(drafts_in(opencode, entry)) if event.cost is not None}
    assert abs(sum(costs.values(), Decimal(0)) - Decimal(str(entry["cost"]))) < Decimal("0.000001")


@by_file("opencode")
def test_every_document_gives_an_event_with_its_bytes(entry: dict[str, Any]) -> None:
    data = (TRANSCRIPTS / entry["file"]).read_bytes()
    drafts = drafts_in(opencode, entry)
    places = {(event.offset, event.length) for event in events_of(drafts)}
    assert len(places) == entry["records"] and not rules_of(drafts)
    for offset, length in places:
        assert data[offset : offset + 1] in (b"{", b"[") and data[offset + length - 1 : offset + length] in (b"}", b"]")


@by_file("opencode")
def test_each_session_of_a_dump_is_told_whole_before_the_next(entry: dict[str, Any]) -> None:
    order: list[str] = []
    keys: dict[str, list[str]] = {}
    for draft in drafts_in(opencode, entry):
        if isinstance(draft, SessionDraft):
            order += [draft.external_id] if order[-1:] != [draft.external_id] else []
            assert draft.title and draft.model and draft.started_at
        elif isinstance(draft, EventDraft):
            keys.setdefault(order[-1], []).append(draft.key)
    assert len(order) == len(set(order)) > 1
    assert all(len(found) == len(set(found)) for found in keys.values())


@by_file("opencode")
def test_a_dump_is_recognised_by_its_first_64_kilobytes(entry: dict[str, Any]) -> None:
    assert opencode.detect(head_of(TRANSCRIPTS / entry["file"]))


def test_no_file_of_another_tool_is_claimed() -> None:
    assert claimed_of_others(opencode) == []
