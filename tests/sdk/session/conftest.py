"""Sessions of the package with a spool of their own, in front of a desk that can be made to fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from countersign import Session
from countersign.recording import delivery, recorder

from .fake_desk import FakeDesk, serving


@pytest.fixture(autouse=True)
def _no_recorder_stays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test has recorders of its own, whose threads end with it; retries come fast."""
    monkeypatch.setattr(recorder, "_recorders", {})
    monkeypatch.setattr(recorder, "LINGER", 0.01)
    monkeypatch.setattr(delivery, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(delivery, "LONGEST_PAUSE", 0.05)
    yield
    for made in recorder._recorders.values():
        made.close(0.0)


@pytest.fixture
def desk() -> FakeDesk:
    return FakeDesk()


@pytest.fixture
def url(desk: FakeDesk) -> Iterator[str]:
    with serving(desk) as address:
        yield address


@pytest.fixture
def session(url: str, tmp_path: Path) -> Callable[..., Session]:
    """Makes sessions that this test's desk is told of."""

    def make(id: str = "run-1", **more: Any) -> Session:
        return Session(id, "Refund agent", **{"url": url, "api_key": "cs_test", "spool": tmp_path} | more)

    return make
