"""Small pictures of all pages on one sheet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

MAIN = ("home", "sessions", "session-story", "session-tools", "files", "inbox", "reviews", "usage", "compare", "agent")
"""Pages that the sheet shows in every form; of the others it has two."""
TALL, WIDE = 130, 1_600
QUALITY = 60
DECODING = 300_000
"""Milliseconds: 450 pictures, a quarter of them of 3840 pixels, are decoded while it is taken."""
STYLE = f"""body {{ margin: 12px; width: {WIDE}px; font: 12px sans-serif; background: #777; color: #fff }}
div {{ display: flex; flex-wrap: wrap; gap: 8px 6px; margin-bottom: 10px }} figure {{ margin: 0 }}
img {{ height: {TALL}px; display: block }}"""


def file_of(name: str, width: int, theme: str) -> str:
    return f"{name}-{width}-{theme}.png"


def make(
    opened: Any, folder: Path, names: Sequence[str], widths: Sequence[int], themes: Sequence[str], target: Path
) -> None:  # fmt: skip
    """Write the sheet as a JPEG: first the main pages, a line each, then the others."""
    every = [(width, theme) for theme in themes for width in widths]
    two = [(widths[0], themes[1]), (widths[2], themes[0])]
    lines = [_figures([name], every) for name in MAIN if name in names]
    lines.append(_figures([name for name in names if name not in MAIN], two))
    html = folder / "sheet.html"
    html.write_text(f"<!doctype html><style>{STYLE}</style>{''.join(lines)}", encoding="utf-8")
    page = opened(WIDE + 24, 800, "light")
    page.goto(html.as_uri())
    page.wait_for_function("[...document.images].every((image) => image.complete)")
    page.screenshot(path=target, full_page=True, type="jpeg", quality=QUALITY, timeout=DECODING)
    print(f"{target}: {target.stat().st_size:,} bytes")


def _figures(names: Iterable[str], forms: Sequence[tuple[int, str]]) -> str:
    shown = (
        f'<figure><img src="{escape(file_of(name, width, theme))}">{escape(f"{name} {width}")}</figure>'
        for name in names for width, theme in forms
    )  # fmt: skip
    return f"<div>{''.join(shown)}</div>"
