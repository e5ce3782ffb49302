"""Token counts that overlap in a file, as the counts of ``Usage``, which never do."""

from __future__ import annotations

from typing import Any

from .values import count_of


def uncached(prompt: int | None, *cached: int | None) -> int | None:
    """The prompt's tokens that came out of no cache, in formats that count what was ``cached`` inside the prompt.

    A prompt smaller than its cached part is a contradiction of the file; then 0 are left. ``None`` stays unknown.
    """
    return None if prompt is None else max(prompt - sum(count or 0 for count in cached), 0)


def uncached_if_inside(prompt: int | None, *cached: int | None) -> int | None:
    """Uncached tokens where recorders differ: more cached than prompted means that they are counted apart."""
    inside = sum(count or 0 for count in cached)
    return prompt if prompt is None or inside > prompt else prompt - inside


def first_count(stated: dict[str, Any], *names: str) -> int | None:
    """The first of these names under which a count stands: each API and version has its own."""
    return next((count for name in names if (count := count_of(stated.get(name))) is not None), None)
