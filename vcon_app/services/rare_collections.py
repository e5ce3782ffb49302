"""Python's collector of cycles, while much is made that has none."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS_BETWEEN_COLLECTIONS = 200_000
"""A batch of drafts is made of about 40,000."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Drafts hold no cycles: looking for some after every 700 of them took an eighth of the CPU time of an import."""
    usual = gc.get_threshold()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
