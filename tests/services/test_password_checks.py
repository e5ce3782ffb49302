"""Passwords are hashed few at once, and without a database connection: 40 sign-ins held all ten for seconds."""

from __future__ import annotations

import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password
from django.db import connection, connections
from django.test import Client

from sessions_app.services.people import members, password_checks, sign_in_throttle
from sessions_app.services.people.password_checks import Busy

PASSWORD = "correct horse battery"


class SlowHash:
    """Takes the place of the hash, and looks around while it works."""

    def __init__(self, seconds: float = 0.05) -> None:
        self.seconds, self.at_once, self.most = seconds, 0, 0
        self.connections: list[bool] = []
        """Whether the thread that waits for each hash held a connection."""
        self.priorities: set[int] = set()
        self.lock = threading.Lock()

    def __call__(self, password: str, *encoded: str):
        with self.lock:
            self.at_once += 1
            self.most = max(self.most, self.at_once)
            self.priorities.add(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        time.sleep(self.seconds)
        with self.lock:
            self.at_once -= 1
        return (password == PASSWORD, False) if encoded else make_password(password)


@pytest.fixture
def slow_hash(monkeypatch) -> SlowHash:
    slow = SlowHash()
    monkeypatch.setattr(password_checks, "verify_password", slow)
    monkeypatch.setattr(password_checks, "make_password", slow)
    submit = password_checks._threads.submit

    def noting(work):
        slow.connections.append(connection.connection is not None)
        return submit(work)

    monkeypatch.setattr(password_checks._threads, "submit", noting)
    return slow


def sign_in(number: int) -> int:
    try:
        form = {"email": f"ada{number}@example.com", "password": PASSWORD}
        return Client().post("/sign-in/", form, REMOTE_ADDR=f"192.0.2.{number}").status_code
    finally:
        connections.close_all()


@pytest.mark.django_db(transaction=True)
def test_hashing_holds_no_connection_and_is_bounded(slow_hash):
    get_user_model().objects.create_user("ada1@example.com", password=PASSWORD)
    with ThreadPoolExecutor(8) as threads:
        statuses = list(threads.map(sign_in, range(8)))
    assert sorted(statuses) == [302] + [422] * 7
    assert slow_hash.connections == [False] * 8
    assert slow_hash.most <= password_checks.AT_ONCE


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread has no niceness of its own")
@pytest.mark.django_db
def test_pages_go_before_hashes(slow_hash):
    before = os.getpriority(os.PRIO_PROCESS, 0)
    password_checks.user_with("nobody@example.com", PASSWORD)
    assert slow_hash.priorities == {password_checks.NICENESS}
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


@pytest.mark.django_db(transaction=True)
def test_a_new_password_is_hashed_before_the_transaction_begins(slow_hash):
    user = get_user_model().objects.create_user("ada@example.com")
    members.set_password(user, "Ada", "ada@example.com", PASSWORD)
    assert slow_hash.connections == [False]


@pytest.mark.django_db(transaction=True)
def test_a_queue_that_is_full_is_told_and_counts_nothing(slow_hash, monkeypatch):
    """429 when it is full of the same caller's passwords, 503 when of everybody's; neither is a wrong password."""
    monkeypatch.setattr(password_checks, "WAITING_EACH", 0)
    monkeypatch.setattr(sign_in_throttle, "begin", lambda tried_by: pytest.fail("it was counted"))
    answer = Client().post("/sign-in/", {"email": "a@example.com", "password": "x"})
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "10")
    monkeypatch.setattr(password_checks, "WAITING_EACH", 8)
    monkeypatch.setattr(password_checks, "WAITING", 0)
    answer = Client().post("/sign-in/", {"email": "a@example.com", "password": "x"})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "10")


@pytest.mark.django_db(transaction=True)
def test_a_password_that_waited_too_long_does_not_count(slow_hash, monkeypatch):
    monkeypatch.setattr(password_checks, "WAIT_SECONDS", 0.01)
    for _ in range(password_checks.AT_ONCE):
        password_checks._hashing.acquire()
    try:
        tries = [Client().post("/sign-in/", {"email": "a@example.com", "password": "x"}) for _ in range(12)]
    finally:
        for _ in range(password_checks.AT_ONCE):
            password_checks._hashing.release()
    assert [answer.status_code for answer in tries] == [503] * 12
    assert Client().post("/sign-in/", {"email": "a@example.com", "password": "x"}).status_code == 422


def test_a_place_in_the_queue_is_given_back():
    for _ in range(3):
        with pytest.raises(RuntimeError), password_checks.place_in_queue("a"):
            raise RuntimeError
    assert password_checks._waiting.total() == 0
    with password_checks.place_in_queue("a"):
        assert password_checks._waiting.total() == 1


def test_a_caller_has_a_part_of_the_queue(monkeypatch):
    monkeypatch.setattr(password_checks, "WAITING_EACH", 1)
    with password_checks.place_in_queue("a"), password_checks.place_in_queue("b"), pytest.raises(Busy):
        password_checks.place_in_queue("a").__enter__()


@pytest.mark.django_db
def test_an_outdated_hash_is_renewed(monkeypatch):
    user = get_user_model().objects.create_user("ada@example.com", password=PASSWORD)
    before = user.password
    monkeypatch.setattr(password_checks, "verify_password", lambda password, encoded: (True, True))
    assert password_checks.user_with("ada@example.com", PASSWORD) == user
    user.refresh_from_db()
    assert user.password != before and user.check_password(PASSWORD)


@pytest.mark.django_db
@pytest.mark.parametrize("change", [{"is_active": False}, {"password": "!"}])
def test_who_may_not_sign_in_is_nobody(change):
    user = get_user_model().objects.create_user("ada@example.com", password=PASSWORD)
    type(user).objects.update(**change)
    assert password_checks.user_with("ada@example.com", PASSWORD) is None
