"""Words can be read: 4.5:1 and more on every surface, in light and dark (WCAG 2.2, 1.4.3)."""

from __future__ import annotations

import re

import pytest
from django.conf import settings

INKS = ("ink", "ink-2", "ink-3", "accent", "waits", "wrong", "done", "note")
SURFACES = ("page", "raised", "sunk", "hover")
CODE = (
    "code-name", "accent", "done", "note", "ink-3",
    *(f"ansi-{name}" for name in ("red", "green", "yellow", "blue", "magenta", "cyan")),
)  # fmt: skip
PAIRS = [
    *((ink, surface) for ink in INKS for surface in SURFACES),
    *((name, f"{name}-soft") for name in ("accent", "waits", "wrong", "done", "note")),
    *(("ink", f"{name}-soft") for name in ("waits", "wrong", "done", "note")),
    *(("ink-3", f"{name}-soft") for name in ("accent", "wrong", "done")),  # rows that are looked at, lines of a diff
    ("accent-ink", "accent"), ("accent-ink", "accent-hover"),
    *((ink, surface) for ink in CODE for surface in (*SURFACES, "done-soft", "wrong-soft")),
    ("ink", "done-mark"), ("ink", "wrong-mark"),
]  # fmt: skip
TOKENS = dict(
    re.findall(r"--([\w-]+): light-dark\((#\w{6}, #\w{6})\)", (settings.BASE_DIR / "static/css/tokens.css").read_text())
)


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("ink", "surface"), PAIRS)
def test_text_has_enough_contrast(ink, surface, theme):
    assert contrast(*(TOKENS[name].split(", ")[theme] for name in (ink, surface))) >= 4.5


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("surface", SURFACES)
def test_control_borders_have_enough_contrast(surface, theme):
    assert contrast(*(TOKENS[name].split(", ")[theme] for name in ("line-strong", surface))) >= 3


def test_black_on_white_is_21_to_1():
    assert round(contrast("#000000", "#ffffff"), 1) == 21
