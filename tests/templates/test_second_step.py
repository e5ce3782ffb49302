"""What cannot be taken back is asked for once more: no button that a page shows at once does it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings

TEMPLATES = Path(settings.BASE_DIR) / "templates"
ENDS = re.compile(r"(?:^|-)(?:remove|revoke|retire|withdraw|discard|close|disconnect)$")
"""Names of routes that end something."""
AGAIN = {
    "absence-remove": "the same form stands below it",
    "approval-withdraw": "one's own vote, which can be given again",
    "push-remove": "a browser asks for it again",
    "reason-remove": "the same form stands above it",
}
TAG = re.compile(r"<(/?)(details|form)\b((?:\{%.*?%\}|[^>])*)>", re.S)
ROUTE = re.compile(r"action=\"\{% url '([\w-]+)'")


def forms(source: str) -> list[tuple[str, bool]]:
    """Routes of the forms of a template, and whether each stands in a step that is opened first."""
    open_steps: list[bool] = []
    found = []
    for closing, tag, rest in TAG.findall(source):
        if tag == "form" and (route := ROUTE.search(rest)):
            found.append((route[1], any(open_steps)))
        elif tag == "details" and closing:
            open_steps.pop()
        elif tag == "details":
            open_steps.append(bool(re.search(r'class="(?:confirm|step)\b', rest)))
    return found


ENDING = [
    pytest.param(route, is_step, id=f"{path.relative_to(TEMPLATES)}-{route}")
    for path in sorted(TEMPLATES.rglob("*.html"))
    for route, is_step in forms(path.read_text())
    if ENDS.search(route) and route not in AGAIN
]


@pytest.mark.parametrize(("route", "is_step"), ENDING)
def test_what_ends_something_is_opened_first(route: str, is_step: bool):
    assert is_step, (
        f"{route} destroys with one click: put its form into <details class=confirm>, as the page of keys does"
    )


def test_the_forms_are_found():
    assert len(ENDING) > 10, "this test reads templates by their text: it no longer sees the forms"
