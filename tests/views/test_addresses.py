"""What an address asks for and a page does not have is told, and never left out in silence."""

from __future__ import annotations

import pytest

from .build import words


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/triggers/runs/?status=odd", '"odd" is no status; use one of'),
        ("/triggers/runs/?before=odd", "start from its beginning"),
        ("/oversight/?days=odd", '"odd" is no days; use one of 7, 30, 90'),
        ("/usage/wallets/?wallet=odd", '"odd" is no wallet; use one of ai, data'),
        ("/agents/refund-agent/versions/?from=odd", '"odd" is no version; use its number'),
        ("/agents/refund-agent/versions/?to=-1", '"-1" is no version; use its number'),
        ("/agents/refund-agent/versions/?below=1e3", '"1e3" is no version; use its number'),
    ],
)
def test_a_value_that_means_nothing_is_told(admin, agent, path, told):
    answer = admin.get(path)
    assert answer.status_code == 404 and told in words(answer)


def test_what_is_told_of_it_is_short(admin, workspace):
    """Anybody can send somebody an address."""
    lie = "Your session has ended. Call us. " * 50
    for path in ("/triggers/runs/?status=", "/oversight/?days=", "/imports/?status=", "/imports/?batch="):
        assert words(admin.get(path + lie)).count("Call us") <= 2, path
