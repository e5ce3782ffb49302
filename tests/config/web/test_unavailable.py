"""While the database does not answer, everybody is told 503 and when to try again, and the log has a line."""

from __future__ import annotations

import logging

import psycopg_pool
import pytest
from django.db import connection
from django.db.utils import OperationalError
from django.test import Client

from config.web.unavailable import OneLineWhileUnavailable, is_unavailable


@pytest.fixture
def no_connection(monkeypatch):
    """A pool of which every connection is taken, as psycopg tells of it."""

    def taken():
        with connection.wrap_database_errors:
            raise psycopg_pool.PoolTimeout("couldn't get a connection after 5.00 sec")

    connection.close()
    monkeypatch.setattr(connection, "connect", taken)


@pytest.mark.parametrize("path", ["/hooks/abcdefghijklmnopqrstuvwxyz", "/api/v1/approvals"])
def test_programs_get_a_problem(db, no_connection, path):
    headers = {"Authorization": "Bearer cs_x"}
    answer = Client(raise_request_exception=False).post(path, b"{}", "application/json", headers=headers)
    assert (answer.status_code, answer.headers["Content-Type"]) == (503, "application/problem+json")
    assert answer.headers["Retry-After"] == "5"
    assert "database does not answer" in answer.json()["detail"]


def test_people_get_a_page(db, no_connection):
    client = Client(raise_request_exception=False)
    client.cookies["sessionid"] = "abcdefghijklmnopqrstuvwxyz012345"
    for path in ("/sessions/", "/sign-in/", "/"):
        answer = client.get(path)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
        assert b"The database does not answer" in answer.content


def record(fault: Exception) -> logging.LogRecord:
    return logging.LogRecord("django.request", logging.ERROR, "", 0, "%s: %s", ("A", "/b"), (type(fault), fault, None))


def test_the_log_has_one_line():
    kept = record(OperationalError("the server is away\nhint: start it"))
    assert OneLineWhileUnavailable().filter(kept)
    assert (kept.getMessage(), kept.exc_info) == ("A: /b: the server is away", None)


def test_other_faults_keep_their_traceback():
    kept = record(ValueError("ours"))
    assert OneLineWhileUnavailable().filter(kept) and kept.exc_info[1].args == ("ours",)


def test_a_statement_that_is_too_complex_is_a_fault_of_ours():
    fault = OperationalError("tsquery stack too small")
    fault.__cause__ = type("TooComplex", (Exception,), {"sqlstate": "54001"})()
    assert not is_unavailable(fault)
