"""What docs/build.md says is what there is."""

from __future__ import annotations

import re

import pytest

from sessions_app.runtimes.built_in import rules, tools
from sessions_app.runtimes.local import loop
from sessions_app.services import build_chats
from tests.places import DOCS

PAGE = (DOCS / "build.md").read_text()
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| ")]
BY_WORD = {row[0]: row[1] for row in ROWS if "," in row[0]}
RULES = {
    "search for": rules._search, "waits": rules._waiting, "failed": rules._failed, "usage": rules._usage,
    "trigger": rules._triggers,
}  # fmt: skip


def test_the_limits_are_those_of_the_page():
    told = dict(row for row in ROWS if len(row) == 2)
    assert told["characters of one result"].startswith(f"{tools.MOST:,};")
    assert told["tokens of one answer"].startswith(f"{build_chats.MAX_TOKENS:,},")
    assert told["model requests of one turn"] == str(loop.MOST_REQUESTS)
    assert f"`{build_chats.MODEL}`" in PAGE


@pytest.mark.parametrize("words", BY_WORD)
def test_each_word_of_the_page_has_its_rule(words):
    first, *others = words.split(", ")
    for word in (first, *others):
        assert rules._rule_of(f"Please {word} parcels") == RULES[first]


def test_anything_else_lists_the_sessions():
    assert rules._rule_of("Hello?") == rules._latest and rules._rule_of("Which tools?") == rules._tools
    assert set(RULES.values()) | {rules._tools} == {rule for _, rule in rules.RULES}


def test_the_citations_of_the_page_are_those_that_the_model_is_told():
    for form in re.findall(r"`(\[SESSION_ID[^`]*\])`", PAGE):
        assert form in build_chats.INSTRUCTIONS
