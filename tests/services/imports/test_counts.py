"""A transcript of the benchmarks, whose tokens, turns and tool calls are known from its making."""

from __future__ import annotations

import pytest

from bench import transcripts
from sessions_app.models import Session

from .test_imports import drop

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("lines", [1, 37, 1_500])
def test_an_import_counts_what_the_file_was_made_of(workspace, tmp_path, lines):
    file = tmp_path / "made.jsonl"
    truth = transcripts.write(file, lines, seed=7)
    done = drop(workspace, file.read_bytes())
    session = Session.objects.get()
    assert (done.error, done.events, truth.lines) == (None, lines, lines)
    assert (session.turn_count, session.tool_call_count, session.output_tokens or 0) == tuple(truth.totals().values())
    assert session.requests.count() == len(truth.outputs)
    assert session.unpriced_tokens == 0


def test_the_same_length_and_seed_make_the_same_file(tmp_path):
    for name in ("a", "b"):
        transcripts.write(tmp_path / name, 300, seed=1)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
