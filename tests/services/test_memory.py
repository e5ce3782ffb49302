"""What a large file took in memory is given back when it has been read."""

from __future__ import annotations

import ctypes

import psutil
import pytest

from vcon_app.services import memory
from vcon_app.services.imports import import_jobs

from .files import transcript
from .imports.test_imports import drop


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="the C library keeps nothing")
@pytest.mark.parametrize("read", [memory.LARGE - 1, memory.LARGE])
def test_what_the_c_library_keeps_after_a_large_file_is_given_back(read):
    blocks = [bytes(3_000) for _ in range(30_000)]
    last = blocks.pop()
    del blocks
    before = psutil.Process().memory_info().rss
    memory.give_back(read)
    given = before - psutil.Process().memory_info().rss
    assert (given > 40_000_000) == (read == memory.LARGE)
    assert last


@pytest.mark.django_db
def test_an_import_gives_back_what_its_document_took(workspace, monkeypatch):
    sizes: list[int] = []
    monkeypatch.setattr(import_jobs.memory, "give_back", sizes.append)
    done = drop(workspace, transcript(4))
    assert sizes == [done.document.size]
