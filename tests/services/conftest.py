"""Documents of a test of services lie in a directory of their own."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def documents_apart(document_storage) -> None:
    """Every test of a service may keep documents."""
