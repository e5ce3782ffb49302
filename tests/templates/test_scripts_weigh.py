"""What a page brings of JavaScript, with htmx and all that its scripts import or fetch later: at most 120 KB sent.

What a browser reads when a page opens is held by ``browser/test_scripts.py``.
"""

from __future__ import annotations

import gzip
import re
from functools import cache
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders

from config.env import BASE_DIR

MOST = 120_000
"""Bytes as they are sent, of every page."""
TEMPLATES = BASE_DIR / "templates"
SCRIPT = re.compile(r"""<script[^>]+src="\{% static '([^']+\.js)' %\}\"""")
IMPORT = re.compile(r"""^(?:import|export)\b[^"';]*["'](\.[^"']+)["'];|import\(["'](\.[^"']+)["']\)""", re.MULTILINE)
EVERY_PAGE = ("django_htmx/htmx-2.min.js",)
"""What ``{% htmx_script %}`` writes."""
PAGES = sorted(
    str(page.relative_to(TEMPLATES))
    for page in TEMPLATES.rglob("*.html")
    if page.name != "base.html" and SCRIPT.search(page.read_text())
)


@cache
def found(name: str) -> Path:
    path = finders.find(name)
    assert path, f"{name} is nowhere"
    return Path(path)


def imported(script: Path, seen: set[Path]) -> set[Path]:
    """A script and all that it imports."""
    if script not in seen:
        seen.add(script)
        for first, second in IMPORT.findall(script.read_text()):
            imported((script.parent / (first or second)).resolve(), seen)
    return seen


def scripts_of(template: str) -> set[Path]:
    names = [*EVERY_PAGE]
    for page in ("base.html", template):
        names += SCRIPT.findall((TEMPLATES / page).read_text())
    seen: set[Path] = set()
    for name in names:
        imported(found(name).resolve(), seen)
    return seen


@pytest.mark.parametrize("template", PAGES)
def test_no_page_brings_more_than_120_kilobytes_of_javascript(template):
    scripts = [script.read_bytes() for script in scripts_of(template)]
    assert sum(len(gzip.compress(script)) for script in scripts) <= MOST


def test_the_sum_has_everything_that_a_browser_was_seen_to_load():
    assert len(PAGES) > 12
    names = {path.name for path in scripts_of("sessions/session.html")}
    assert {"htmx-2.min.js", "desk.js", "words.js", "windows.js", "slices.js", "frame.js"} <= names
