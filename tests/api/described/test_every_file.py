"""Every operation whose answer is a file, or leaves a test's transaction, answers as its description says."""

from __future__ import annotations

import pytest

from .operations import OF_FILES, ask


@pytest.mark.parametrize("name", OF_FILES)
@pytest.mark.django_db(transaction=True)
def test_a_file_is_as_described(name, schema, values, admin, things):
    ask(schema, values, name, admin.key, things)
