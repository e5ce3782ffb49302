"""What an agent is told of a call that did not run does not say that a person refused it where none did."""

from __future__ import annotations

import pytest
from countersign.answers import REFUSED, Decision
from countersign.sentences import why

NOBODY = ("pending", "expired", "cancelled", "failed", "settled_elsewhere")


@pytest.mark.parametrize("status", NOBODY)
def test_a_wait_that_ended_is_no_refusal_of_a_person(status):
    said = why(Decision(status))
    assert said.startswith("Not run:")
    assert not {"denied", "rejected", "refused", "does not want"} & set(said.lower().replace(".", "").split())


def test_every_refusal_says_that_the_call_did_not_run():
    for status in REFUSED:
        decision = Decision(status, "Too late.")
        assert why(decision).startswith(("Not run", "Denied")) and why(decision).endswith("Too late.")
