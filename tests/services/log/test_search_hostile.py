"""Whatever somebody types into a search is looked for, and never an error of the database."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions_app.queries.log.search import find
from sessions_app.queries.sessions.session_list import SessionFilter, filtered

from ..build import append, user

pytestmark = pytest.mark.django_db
TYPED = st.lists(
    st.one_of(
        st.sampled_from(
            ["-" * 40, "- " * 40, "-!" * 20, '"', '-"', " or ", "(", ":*", "\0", "\\", "'", "€", "日", "gauge"]
        ),
        st.text(max_size=5),
    ),
    max_size=30,
).map("".join)
"""What people and programs type, dense in what the query language of PostgreSQL means something by."""


@pytest.fixture
def session_with_two_messages(session):
    append(session, user("The gauge is broken"), user("So is the valve"))
    return session


@pytest.mark.parametrize("dashes", ["-" * 40, "-" * 100, "- " * 100, "-!" * 100])
def test_many_dashes_are_one(session_with_two_messages, dashes):
    session = session_with_two_messages
    assert [hit.seq for hit in find(session.pk, f"{dashes}gauge is").hits] == [2]
    assert list(filtered(session.workspace_id, SessionFilter(q=f"{dashes}gauge is"))) == []
    assert list(filtered(session.workspace_id, SessionFilter(q=f"{dashes}gasket is"))) == [session]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=TYPED)
def test_no_search_is_an_error(session_with_two_messages, words):
    session = session_with_two_messages
    assert find(session.pk, words).total in (0, 1, 2)
    assert list(filtered(session.workspace_id, SessionFilter(q=words))) in ([], [session])
