"""Guessing passwords is slowed down, whatever form the name has; the person whose name it is comes in all the same."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connections
from django.test import Client
from django.utils import timezone

from sessions_app.models import SignInAttempts
from sessions_app.services.people import sign_in_throttle

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery"
FREE = sign_in_throttle.RULES["name at address"].free


@pytest.fixture
def ada():
    return get_user_model().objects.create_user("ada@example.com", password=PASSWORD)


def post(password: str, email: str = "ada@example.com", address: str = "192.0.2.1", client: Client | None = None):
    return (client or Client()).post("/sign-in/", {"email": email, "password": password}, REMOTE_ADDR=address)


def attempt(*args, **kwargs) -> int:
    return post(*args, **kwargs).status_code


def test_after_ten_wrong_passwords_even_the_right_one_waits(ada):
    assert [attempt("wrong") for _ in range(FREE)] == [422] * FREE
    answer = post(PASSWORD)
    assert answer.status_code == 429
    assert 50 <= int(answer.headers["Retry-After"]) <= 60
    assert "Wait" in answer.content.decode()


def test_a_few_mistakes_do_not_lock_anybody_out(ada):
    assert [attempt("wrong"), attempt("wrong"), attempt(PASSWORD)] == [422, 422, 302]


def test_signing_in_ends_the_count(ada):
    for _ in range(3):
        assert [attempt("wrong") for _ in range(FREE - 1)] == [422] * (FREE - 1)
        assert attempt(PASSWORD) == 302


@pytest.mark.parametrize(
    "email",
    ["ADA@example.com", " ada@example.com ", "\uff41da@example.com", "ada@example.com\0", "\0ada@example.com"],
)
def test_another_form_of_the_name_is_counted_with_it_or_is_nobody(ada, email):
    """The name with a NUL was counted as another one and signed in as the same: 10 guesses for each number of NULs."""
    assert [attempt("wrong") for _ in range(FREE)] == [422] * FREE
    assert attempt(PASSWORD, email=email) in (422, 429)


@pytest.mark.parametrize("email", ["ADA@example.com", " ada@example.com ", "\uff41da@example.com"])
def test_a_person_may_write_their_name_as_they_like(ada, email):
    assert attempt(PASSWORD, email=email) == 302


@pytest.mark.parametrize(
    "email", ["ada@example.com\0", "a\x01b", "\ud800".encode("utf-8", "surrogatepass"), "x" * 5_000]
)
def test_a_name_that_nobody_can_have_is_nobody(ada, email):
    assert attempt(PASSWORD, email=email) == 422


def test_guesses_from_elsewhere_do_not_keep_the_owner_out(ada):
    """Ten anonymous guesses kept the true owner out for five minutes, each time."""
    assert [attempt("wrong") for _ in range(FREE + 1)][-1] == 429
    assert attempt(PASSWORD, address="198.51.100.7") == 302


def test_a_browser_that_was_here_before_is_let_in_while_everybody_guesses(ada):
    """A thousand addresses slow down the name for those who come for the first time, not for its owner's browser."""
    mine = Client()
    assert attempt(PASSWORD, client=mine) == 302
    mine.post("/sign-out/")
    for number in range(sign_in_throttle.RULES["name"].free):
        attempt("wrong", address=f"198.51.100.{number}")
    assert attempt(PASSWORD, address="203.0.113.9") == 429
    assert attempt(PASSWORD, client=mine, address="203.0.113.9") == 302


def test_the_cookie_of_such_a_browser_is_no_way_around_the_count(ada):
    mine = Client()
    assert attempt(PASSWORD, client=mine) == 302
    mine.post("/sign-out/")
    assert [attempt("wrong", client=mine) for _ in range(FREE + 1)] == [422] * FREE + [429]


def test_the_cookie_is_good_for_one_name_and_cannot_be_made_up(ada):
    get_user_model().objects.create_user("bob@example.com", password=PASSWORD)
    bobs = Client()
    assert attempt(PASSWORD, email="bob@example.com", client=bobs) == 302
    bobs.post("/sign-out/")
    assert [attempt("wrong") for _ in range(FREE)] == [422] * FREE
    assert attempt(PASSWORD, client=bobs) == 429
    bobs.cookies["known_browser"] = bobs.cookies["known_browser"].value[:-1] + "A"
    assert attempt(PASSWORD, client=bobs) == 429


def test_the_wait_grows_with_each_guess_and_is_forgotten_after_an_hour(ada):
    waits = []
    for _ in range(FREE + 4):
        answer = post("wrong")
        if answer.status_code == 429:
            waits.append(int(answer.headers["Retry-After"]))
            SignInAttempts.objects.update(not_before=timezone.now())
            post("wrong")
    assert waits == sorted(waits) and waits[-1] > 4 * waits[0]
    SignInAttempts.objects.update(last_at=timezone.now() - timedelta(hours=1, seconds=1))
    assert attempt(PASSWORD) == 302


def test_one_address_tries_many_names_and_is_slowed_down(ada):
    free = sign_in_throttle.RULES["address"].free
    tries = [attempt("wrong", email=f"somebody{number}@example.com") for number in range(free + 1)]
    assert tries == [422] * free + [429]


def test_addresses_of_one_customer_count_as_one(ada):
    tries = [attempt("wrong", address=f"2001:db8:1:2::{number:x}") for number in range(FREE + 1)]
    assert tries == [422] * FREE + [429]


def test_what_was_counted_goes_away_as_others_try(ada):
    """The table cannot be filled: each attempt adds three rows at most, and removes more that are old."""
    for number in range(10):
        attempt("wrong", email=f"somebody{number}@example.com", address=f"198.51.100.{number}")
    SignInAttempts.objects.update(last_at=timezone.now() - timedelta(hours=2))
    attempt("wrong")
    attempt("wrong")
    assert SignInAttempts.objects.count() == 3


def test_the_table_tells_nobody_who_signs_in_here(ada):
    attempt("wrong")
    kept = str(list(SignInAttempts.objects.values()))
    assert "ada@" not in kept and "example" not in kept and "192.0.2" not in kept
    assert not re.search(r"\bada\b", kept), "as a word: keyed hashes hold any three letters a to f"


def test_an_operator_lets_somebody_in_again(ada, capsys):
    assert [attempt("wrong") for _ in range(FREE + 1)][-1] == 429
    call_command("unlock", " Ada@Example.com")
    assert capsys.readouterr().out == "ada@example.com may sign in at once\n"
    assert attempt(PASSWORD) == 302


@pytest.mark.django_db(transaction=True)
def test_many_guesses_at_once_are_checked_no_more_often(ada):
    """40 at once for one name: 15 were checked before the pause of 10 began."""

    def guess(_: int) -> int:
        try:
            return attempt("wrong")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as threads:
        tried = list(threads.map(guess, range(40)))
    assert (tried.count(422), tried.count(429)) == (FREE, 40 - FREE)
