"""Keys for tests of what sessions led to."""

from tests.api.conftest import api, key_for, other_workspace, stranger, viewer  # noqa: F401
