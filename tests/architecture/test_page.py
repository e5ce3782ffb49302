"""``docs/architecture.md``: its map is the tree, its words are those of the models, and what it names is there."""

from __future__ import annotations

import re

import pytest
from django.apps import apps

from tests.places import DOCS, ROOT

PAGE = (DOCS / "architecture.md").read_text()
PACKAGES = ("config", "sessions_app", "vcon_app")
NOT_ROOMS = {"migrations", "management", "commands", "demo"}
"""Folders that Django or the packaging asks for, with names that everybody knows."""
ROOMS_OF_THEIR_OWN = "vcon_app/formats"
"""A folder per format, or per part of one: the table of formats in the README has them."""
UNSPOKEN = {
    "CallUsage", "Companion", "EventText", "FileText", "IdempotentAnswer", "ImportedSession", "SearchBacklog",
    "SearchBlock", "SignInAttempts", "SignInLink", "SlackEvent", "SlackInstallation", "SlackNotice", "SlackReply",
    "TurnUsage",
}  # fmt: skip
"""Rows that stand behind something that has a word; no page and no route speaks of them."""


def folders_with_code() -> set[str]:
    found = {path.parent for package in PACKAGES for path in (ROOT / package).rglob("*.py") if path.stat().st_size}
    return {path.relative_to(ROOT).as_posix() for path in found if not NOT_ROOMS & set(path.relative_to(ROOT).parts)}


def folders_on_the_map() -> set[str]:
    rows = re.findall(r"^\| (`.+?) \|", PAGE.split("## The map")[1].split("\n## ")[0], re.M)
    return {name.rstrip("/") for row in rows for name in re.findall(r"`([^`]+)`", row)}


def test_every_folder_of_the_product_is_on_the_map():
    missing = folders_with_code() - folders_on_the_map()
    assert sorted(name for name in missing if not name.startswith(ROOMS_OF_THEIR_OWN)) == []


def test_every_folder_on_the_map_is_there():
    assert [name for name in sorted(folders_on_the_map()) if not (ROOT / name).is_dir()] == []


def test_every_file_that_the_page_names_is_there():
    named = set(re.findall(r"`((?:config|sessions_app|vcon_app|services|views|runtimes|api)/[\w/]+\.py)", PAGE))
    assert named and [name for name in sorted(named) if not any(ROOT.glob(f"**/{name}"))] == []


@pytest.mark.parametrize("app", PACKAGES[1:])
def test_every_model_has_a_word_in_the_glossary(app):
    words = PAGE.split("## Words")[1].lower()
    names = [model.__name__ for model in apps.get_app_config(app).get_models()]
    spoken = {name: re.sub(r"(?<!^)([A-Z])", r" \1", name).lower() for name in names}
    assert {name: word for name, word in spoken.items() if word not in words and name not in UNSPOKEN} == {}


def test_the_glossary_has_at_most_sixty_lines():
    assert PAGE.split("## Words")[1].count("\n| ") <= 60
