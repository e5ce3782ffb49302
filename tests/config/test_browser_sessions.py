"""Browser sessions: who reads the table, or a backup of it, signs in as nobody."""

from __future__ import annotations

import asyncio
from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.contrib.sessions.backends import db as django_store
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client

from config.browser_sessions import SessionStore, stored_key

pytestmark = pytest.mark.django_db


@pytest.fixture
def signed_in(workspace) -> Client:
    from sessions_app.models import Member, Role

    user = get_user_model().objects.create_user("ada@example.com")
    Member.objects.create(workspace=workspace, user=user, role=Role.ADMIN)
    client = Client()
    client.force_login(user)
    return client


def test_a_stolen_table_signs_nobody_in(signed_in):
    assert signed_in.get("/sessions/").status_code == 200
    thief = Client()
    for key in Session.objects.values_list("session_key", flat=True):
        thief.cookies["sessionid"] = key
        assert thief.get("/sessions/").status_code == 302
    assert signed_in.get("/sessions/").status_code == 200


def test_the_key_of_the_cookie_is_nowhere_in_the_row(signed_in):
    key = signed_in.cookies["sessionid"].value
    row = Session.objects.get()
    assert row.session_key == stored_key(key) != key
    assert key not in str(row.get_decoded()) + row.session_data


def test_signing_out_removes_the_row(signed_in):
    signed_in.post("/sign-out/")
    assert not Session.objects.filter(session_data__contains=":").exclude(session_key="").exists()


def test_a_new_key_takes_the_place_of_the_old_one(signed_in):
    """As at signing in: what the browser had before opens nothing afterwards."""
    store = SessionStore(signed_in.cookies["sessionid"].value)
    before, said = store.session_key, dict(store.items())
    store.cycle_key()
    assert store.session_key != before and dict(SessionStore(store.session_key).items()) == said
    assert not SessionStore().exists(before) and SessionStore().exists(store.session_key)


@pytest.mark.django_db(transaction=True)
def test_the_asynchronous_half_hashes_as_well():
    async def run() -> tuple[str, str | None, bool, bool]:
        store = SessionStore()
        await store.aset("a", 1)
        await store.asave()
        key = store.session_key
        read = await SessionStore(key).aget("a")
        there = await SessionStore().aexists(key)
        await SessionStore(key).adelete()
        return key, read, there, await SessionStore().aexists(key)

    key, read, there, later = asyncio.run(run())
    assert (read, there, later) == (1, True, False)


def test_every_method_of_djangos_store_that_knows_the_key_is_replaced():
    """A new version of Django may read or write the table in another place."""
    own = {name for name in vars(django_store.SessionStore) if "session_key" in _source(name)}
    harmless = {"__init__", "create", "acreate", "save", "asave"}  # these go through the others
    assert own - harmless <= set(vars(SessionStore))


def _source(name: str) -> str:
    import inspect

    try:
        return inspect.getsource(vars(django_store.SessionStore)[name])
    except TypeError:
        return ""


def test_the_migration_keeps_everybody_signed_in(signed_in):
    """Rows that Django wrote hold the key itself; they are hashed where they stand."""
    key = signed_in.cookies["sessionid"].value
    Session.objects.update(session_key=key)
    assert signed_in.get("/sessions/").status_code == 302
    signed_in.cookies["sessionid"] = key
    migration = import_module("sessions_app.migrations.0009_sign_in_attempts")
    with connection.cursor() as cursor:
        cursor.execute(migration.HASH_KEYS)
    assert signed_in.get("/sessions/").status_code == 200
    assert apps.is_installed("django.contrib.sessions")
