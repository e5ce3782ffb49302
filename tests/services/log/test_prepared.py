"""Statements that are planned once for any values, and those over much data, which are planned for theirs."""

from __future__ import annotations

import pytest

from sessions_app.prepared import Statement, fetch

pytestmark = pytest.mark.django_db
SENT = Statement("SELECT current_query() WHERE %s::text <> ''")


@pytest.mark.parametrize("keep", [True, False])
def test_only_a_statement_whose_plan_is_not_kept_has_its_values_in_its_text(keep):
    """What has parameters is planned for any values, kept or not, where ``plan_cache_mode`` says so."""
    ((sent,),) = fetch(SENT, ["a value"], keep=keep)
    assert ("a value" in sent) is not keep
