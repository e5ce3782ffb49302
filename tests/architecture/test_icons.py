"""Every picture that a page names is in ``static/icons.svg``: an unknown one is not seen, and nothing complains."""

from __future__ import annotations

import re

from sessions_app.rendering import marks, toolline
from tests.places import ROOT

KNOWN = set(re.findall(r'<symbol[^>]*\bid="([\w-]+)"', (ROOT / "static" / "icons.svg").read_text()))
NAMED = re.compile(r"""\{%\s*icon\s+"([^"]+)"\s*%\}""")


def test_templates_name_pictures_that_there_are():
    pages = {page: NAMED.findall(page.read_text()) for page in (ROOT / "templates").rglob("*.html")}
    assert sum(map(len, pages.values())) > 100
    assert {page.name: set(names) - KNOWN for page, names in pages.items() if set(names) - KNOWN} == {}


def test_states_and_tools_have_pictures_that_there_are():
    groups = (marks.STATES, marks.TRIGGER_RUNS, marks.OUTCOMES, marks.DELIVERIES, marks.EXECUTIONS)
    named = {mark.icon for group in groups for mark in group.values()} - {""}
    assert named and named <= KNOWN
    tools = ["Bash", "Read", "Edit", "Grep", "WebFetch", "Task", "TodoWrite", "mcp__a__b", "else"]
    assert {toolline.describe_call(name, {}).icon for name in tools} <= KNOWN
