"""No recording of Managed Agents has been published; nothing of other tools may be taken for one."""

from __future__ import annotations

import pytest

from vcon_app.formats import managed_agents

from .reads import CORPUS, claimed


@pytest.mark.skipif(not CORPUS.exists(), reason="needs ../shared/corpus")
def test_no_file_of_another_format_is_claimed() -> None:
    assert claimed(managed_agents) == set()
