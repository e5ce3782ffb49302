"""``docs/policies.md``: its rules can be used, they do what its tables say, and it names every member that there is."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

import pytest

from sessions_app.api.api import ROOT
from sessions_app.policy.conditions import Call
from sessions_app.policy.evaluation import RuleSet, evaluate
from sessions_app.policy.matching import KNOWN as CONDITIONS
from sessions_app.policy.parameters import KNOWN as PARAMETERS
from sessions_app.policy.reading import compile_rules, read_rules
from sessions_app.policy.rules import OPERATORS

from .places import DOCS

PAGE = (DOCS / "policies.md").read_text()
PARTS = re.findall(r"```json rules\n(.*?)```(.*?)(?=\n## |\n```json rules|\Z)", PAGE, re.S)
CALL = re.compile(r"^\| `(\S+) (\{.*?\})` \| (\w+) \| ?(.*?) ?\|$", re.M)
NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


@pytest.mark.parametrize(("rules", "after"), PARTS)
def test_the_examples_do_what_the_page_says(rules, after):
    read_rules(json.loads(rules))
    policy = RuleSet(compile_rules(json.loads(rules)), "policy 1")
    rows = CALL.findall(after)
    assert len(rows) >= 4
    for tool, arguments, effect, by in rows:
        made = evaluate(Call(tool, json.loads(arguments), now=NOON), [policy])
        assert (made.effect, made.rule) == (effect, by.strip()), (tool, arguments)


def test_the_page_has_examples():
    assert len(PARTS) == 2


def test_the_tables_have_every_member_there_is():
    cells = " ".join(re.findall(r"^\| (.*?) \|", PAGE, re.M))
    named = set(re.findall(r"`([^`]+)`", cells))
    assert {*CONDITIONS, *PARAMETERS, *OPERATORS} - named == set()


def test_the_routes_that_it_names_are_there(client, db):
    paths = client.get(f"{ROOT}/openapi.json").json()["paths"]
    ours = re.findall(r"/api/v1/[\w/{}]+", PAGE)
    assert len(ours) >= 6
    assert [path for path in ours if path.replace("{id}", "{grant_id}") not in paths] == []
