"""Values that are found by vectors, with the pgvector of the database that ships, and without it."""

from __future__ import annotations

import pytest
from django.db import connection

from config.database import vectors
from sessions_app.models import StateValue
from tests.database_roles import as_owner

from ..client import ok, pointers, refused
from .test_state import delete, opened, put


def of(*numbers, model="m"):
    return {"model": model, "vector": list(numbers)}


def found(api, path, **wanted):
    said = ok(api.post(f"{path}/search", wanted))
    return said["method"], [(row["key"], row["method"], round(row["score"], 3)) for row in said["items"]]


@pytest.fixture
def remembered(api):
    path = opened(api, "1", user_id="ines")
    for key, value, embedding in (
        ("memory/cat", "a cat", of(3, 4)), ("memory/dog", "a dog", of(1e300, 0)), ("memory/bird", "a bird", None),
        ("memory/fish", "a fish", of(0, 1, model="another")), ("memory/ant", "an ant", of(0, 1, 0)),
        ("else", "x", of(0, 1)),
    ):  # fmt: skip
        ok(put(api, path, scope="user", key=key, value=value, embedding=embedding))
    ok(put(api, path, scope="app", key="memory/other", value="of all", embedding=of(0, 1)))
    return path


@pytest.mark.django_db
def test_the_nearest_come_first_and_what_has_no_such_vector_by_its_words(api, remembered):
    wanted = {"scope": "user", "q": "birds", "embedding": of(0, 0.001), "prefix": "memory/"}
    method, [near, far, said] = found(api, remembered, **wanted)
    assert (method, near, far) == ("pgvector", ("memory/cat", "pgvector", 0.8), ("memory/dog", "pgvector", 0))
    assert said[:2] == ("memory/bird", "full text")
    assert found(api, remembered, **wanted, limit=1)[1] == [near]
    assert found(api, remembered, **wanted | {"prefix": "mem_ry/"})[1] == []
    assert found(api, remembered, **wanted | {"q": ""})[1] == [near, far]
    only_words = found(api, remembered, scope="user", q="birds")
    assert (only_words[0], [row[:2] for row in only_words[1]]) == ("full text", [("memory/bird", "full text")])


@pytest.mark.django_db(transaction=True)
def test_a_database_without_it_is_searched_by_words_and_says_so(api, remembered):
    wanted = {"scope": "user", "q": "dogs", "embedding": of(1, 0)}
    with as_owner() as cursor:
        cursor.execute("DROP EXTENSION vector")
    try:
        ok(put(api, remembered, scope="user", key="memory/cow", value="a cow", embedding=of(0, 5)))
        method, [row] = found(api, remembered, **wanted)
        assert (method, row[:2]) == ("full text", ("memory/dog", "full text"))
    finally:
        with as_owner():
            vectors.prepare()
    assert found(api, remembered, **wanted, limit=1) == ("pgvector", [("memory/dog", "pgvector", 1)])
    assert StateValue.objects.get(key="memory/cow").vector == [0, 1]


@pytest.mark.django_db
def test_a_value_that_is_written_or_deleted_has_the_old_vector_no_more(api, remembered):
    ok(put(api, remembered, scope="user", key="memory/cat", value="no cat"))
    ok(delete(api, f"{remembered}?scope=user&key=memory/dog"))
    assert found(api, remembered, scope="user", embedding=of(0, 1))[1] == [("else", "pgvector", 1)]
    ok(put(api, remembered, key="k", value=1, embedding=of(1)))
    ok(delete(api, remembered))
    assert set(StateValue.objects.filter(key__in=["memory/cat", "memory/dog", "k"]).values_list("vector")) == {(None,)}


@pytest.mark.django_db
def test_a_vector_that_is_none_is_refused_by_its_place(api, remembered):
    for wrong in (of(0, 0), of(*[1.7e308] * 2), of(*[1] * 4097), of(), of("x"), of(1, model=""), [1, 2]):
        for sent in (put(api, remembered, key="k", value=1, embedding=wrong),
                     api.post(f"{remembered}/search", {"embedding": wrong})):  # fmt: skip
            assert all(place.startswith("/embedding") for place in pointers(refused(sent, 422))), wrong
    assert pointers(refused(api.post(f"{remembered}/search", {"words": "x"}), 422)) == {"/words"}


@pytest.mark.django_db
def test_what_others_keep_is_not_there(stranger, remembered):
    refused(stranger.post(f"{remembered}/search", {"embedding": of(1)}), 404)


@pytest.mark.django_db
def test_the_desk_may_use_it_and_not_make_it(workspace):
    with connection.cursor() as cursor:
        cursor.execute("SELECT '[1,2]'::vector <=> '{2,4}'::float8[]::vector, current_user")
        assert cursor.fetchone() == (0, "countersign_desk")
    vectors.prepare()  # is there: nothing to make


def test_who_may_not_make_it_goes_without(django_db_setup, django_db_blocker):
    """A server of yours whose owner is no superuser."""
    with django_db_blocker.unblock(), as_owner() as cursor:
        cursor.execute("BEGIN")
        try:
            cursor.execute("DROP EXTENSION vector")
            cursor.execute("SET LOCAL ROLE countersign_desk")
            cursor.execute("SAVEPOINT before")
            vectors.prepare()
            cursor.execute("ROLLBACK TO before")
            cursor.execute("SELECT count(*) FROM pg_extension WHERE extname = 'vector'")
            assert cursor.fetchone() == (0,)
        finally:
            cursor.execute("ROLLBACK")
