"""Templates have short lines and load no tags of the app above them; tags read no database."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.places import ROOT

from .imports import modules

RECORD_PAGES = ("erasure/", "imports/", "redaction/", "sources/", "trust/")
"""Folders of templates that belong to vcon_app."""
PURE_CALLS = {"cron_times.in_words", "place_of"}
"""Functions of queries and services that template tags may call: they read nothing."""


def templates() -> dict[str, str]:
    """Name -> source of every template."""
    files = (ROOT / "templates").rglob("*.html")
    return {str(path.relative_to(ROOT / "templates")): path.read_text(encoding="utf-8") for path in files}


def test_no_line_of_a_template_is_longer_than_140_characters():
    long = [
        f"{name}:{number}"
        for name, source in templates().items()
        for number, line in enumerate(source.splitlines(), 1)
        if len(line) > 140
    ]
    assert long == []


def test_templates_of_the_desk_load_no_tags_of_the_app_above_it():
    above = {path.stem for path in (ROOT / "vcon_app" / "templatetags").glob("*.py")}
    loaded = [
        (name, library)
        for name, source in templates().items()
        if not name.startswith(RECORD_PAGES)
        for libraries in re.findall(r"{% load (.*?) %}", source)
        for library in libraries.split()
        if library in above
    ]
    assert loaded == []


def test_template_tags_read_no_database():
    """What a page costs in queries stands in its view."""
    reads = [(name, call) for name in modules() if ".templatetags." in name for call in calls_that_read(name)]
    assert [(name, call) for name, call in reads if call not in PURE_CALLS] == []


def calls_that_read(name: str) -> Iterator[str]:
    """Calls of a module to what it imports from queries and services, and each use of a manager."""
    tree = ast.parse(modules()[name].read_text(encoding="utf-8"))
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and {"queries", "services"} & set((node.module or "").split("."))
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "objects":
            yield ast.unparse(node)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[0] in imported:
            yield ast.unparse(node.func)
