"""What the reference validator says of files, and what we find in them: one by one, nothing more and nothing less."""

from __future__ import annotations

import json

import pytest

from vcon_app.drafts import Finding

from ..vcon_tools import CORPUS, needs_corpus
from .tools import drafts

EXAMPLES = CORPUS / "upg" / "examples"
RESULTS = EXAMPLES / "validator-results.json"
EXPECTED = json.loads(RESULTS.read_text())["results"] if RESULTS.exists() else {}
OURS = {"upg.direction", "upg.status", "upg.edge-properties", "upg.seal", "upg.counts", "upg.time"}
"""Warnings that the reference does not give (U11, U15)."""


def pointer(path: str) -> str:
    if path == "$upg.provenance.exported_at":
        return "/exported_at"  # where it stands in the flat envelope that the file has
    return path.removeprefix("$").replace("[", "/").replace("]", "").replace(".", "/")


@needs_corpus
@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("severity", ["error", "warning"])
def test_errors_and_warnings_stand_where_the_reference_has_them(name: str, severity: str) -> None:
    found = [one for one in drafts((EXAMPLES / f"{name}.json").read_bytes()) if isinstance(one, Finding)]
    ours = {one.path for one in found if one.severity == severity and one.rule not in OURS}
    assert ours == {pointer(fault["path"]) for fault in EXPECTED[name][f"{severity}s"]}


@needs_corpus
@pytest.mark.parametrize(
    ("name", "rule"),
    [("edge-reversed", "upg.direction"), ("bad-lifecycle-status", "upg.status"),
     ("edge-properties-not-allowed", "upg.edge-properties")],
)  # fmt: skip
def test_what_the_reference_does_not_look_at_is_a_warning_of_ours(name: str, rule: str) -> None:
    found = [one for one in drafts((EXAMPLES / f"{name}.json").read_bytes()) if isinstance(one, Finding)]
    assert [one.severity for one in found if one.rule == rule] == ["warning"]
