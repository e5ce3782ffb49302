"""Guessing passwords is slowed down, and the right one does not help while it is."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.core.cache import cache
from django.test import Client

from sessions_app.services import sign_in_throttle

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def forget():
    cache.clear()
    yield
    cache.clear()


def attempt(password: str) -> int:
    return Client().post("/sign-in/", {"email": "ada@example.com", "password": password}).status_code


def test_after_ten_wrong_passwords_even_the_right_one_waits():
    get_user_model().objects.create_user("ada@example.com", password="correct horse battery")
    assert [attempt("wrong") for _ in range(sign_in_throttle.FAILURES)] == [422] * sign_in_throttle.FAILURES
    assert attempt("correct horse battery") == 429


def test_a_few_mistakes_do_not_lock_anybody_out():
    get_user_model().objects.create_user("ada@example.com", password="correct horse battery")
    assert [attempt("wrong"), attempt("wrong"), attempt("correct horse battery")] == [422, 422, 302]
