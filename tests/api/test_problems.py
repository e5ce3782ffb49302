"""Every error is a problem (RFC 9457), also those that no view of ours has seen."""

from __future__ import annotations

import gzip
import json

import pytest
from django.test import override_settings

from sessions_app.models import Agent

from .client import ok, pointers, refused


@pytest.mark.parametrize(
    "path", ["/api/v1/nothing", "/api/v2/agents", "/api/", "/dashboard/agents/", "/api/v1/agents/"]
)
def test_unknown_path_is_a_404_problem(api, path):
    refused(api.get(path), 404)


def test_a_method_that_is_not_taken_is_a_problem_that_names_those_that_are(api):
    answer = api.send("DELETE", "agents", "")
    assert "GET" in refused(answer, 405)["detail"]
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "HEAD", "POST"}


def test_another_media_type_is_refused(api):
    refused(api.send("POST", "agents", "name=x", "application/x-www-form-urlencoded"), 415)
    refused(api.send("POST", "agents", "<name/>", "text/xml"), 415)
    refused(api.send("POST", "imports", "{}"), 415)


def test_a_packed_body_is_refused_by_its_name(api):
    answer = api.send("POST", "agents", gzip.compress(b'{"name": "x"}'), **{"Content-Encoding": "gzip"})
    assert '"gzip"' in refused(answer, 415)["detail"]


@pytest.mark.parametrize(
    "body",
    [
        '{"name": ',
        "",
        "{'name': 1}",
        '{"name": NaN}',
        '{"x": 1e999}',
        b"\xff\xfe{",
        "[" * 100_000,
        '{"a":' * 150 + "1" + "}" * 150,
    ],
)
def test_a_body_that_is_not_json_is_refused(api, body):
    assert api.send("POST", "agents", body).status_code in (400, 422)
    refused(api.send("POST", "agents", body), 422 if body == "" else 400)


@pytest.mark.parametrize("body", [
    '{"name": "A", "instructions": "x", "name": "B"}',
    '{"name": "A", "metadata": {"of": [{"name": 1, "name": 2}]}}',
    '{"name": "A", "na\\u006de": "A"}',
])  # fmt: skip
def test_a_member_that_is_there_twice_is_refused_by_its_name(api, body):
    """Readers differ in which of two they take, and a person decides on what is executed."""
    detail = refused(api.send("POST", "agents", body), 400)["detail"]
    assert '"name" stands in an object more than once' in detail
    assert not Agent.objects.exists()


def test_an_integer_of_ten_thousand_digits_is_refused(api):
    detail = refused(api.send("POST", "agents", '{"name": ' + "9" * 10_000 + "}"), 400)["detail"]
    assert detail.endswith("it holds a number of over 4,300 digits")


def test_each_wrong_value_is_named_by_a_json_pointer(api, session):
    batch = {
        "events": [
            {"client_id": "1", "kind": "note"},
            {"client_id": "", "kind": "rumour", "usage": {"input_tokens": -1}},
        ]
    }
    problem = refused(api.post(f"sessions/{session.id}/events", batch), 422)
    assert pointers(problem) == {"/events/1/client_id", "/events/1/kind", "/events/1/usage/input_tokens"}


@pytest.mark.parametrize(
    ("path", "body", "detail"),
    [
        ("approvals", {"agent": "A"}, "/tool: this is missing, and must be there"),
        ("approvals", {"agent": "A", "tool": 5}, "/tool: 5 is not possible here: it should be an object"),
        ("agents", {"name": "A", "runtime": "mars"}, '/runtime: "mars" is not possible here: it should be '),
        ("agents", {"name": ["A"]}, "/name: this should be a valid string"),
        ("agents", {"name": "A", "runtime": "x" * 500}, '/runtime: "' + "x" * 99 + "… is not possible here"),
    ],
)
def test_the_sentence_says_which_value_is_wrong_and_what_it_should_be(api, path, body, detail):
    assert detail in refused(api.post(path, body), 422)["detail"]


def test_the_sentence_of_a_parameter_says_its_value(api):
    problem = refused(api.get("sessions", {"limit": "501"}), 422)
    assert problem["detail"] == '/limit: "501" is not possible here: it should be less than or equal to 500'


def test_a_pointer_escapes_what_has_a_meaning_in_it(api, agent):
    problem = refused(api.post("approvals", {"agent": "A", "tool": {"name": "t"}}), 422)
    assert pointers(problem) == {"/tool/arguments"}


def test_a_thousand_errors_are_told_in_part(api, session):
    batch = {"events": [{"client_id": str(number), "kind": "rumour"} for number in range(1000)]}
    problem = refused(api.post(f"sessions/{session.id}/events", batch), 422)
    assert len(problem["errors"]) == 50
    assert "1000 values" in problem["detail"]


@pytest.mark.parametrize("limit", ["0", "-1", "501", "abc", "1e3", "", "99999999999999999999"])
def test_a_limit_outside_of_1_to_500_is_refused(api, session, limit):
    for path in (
        "agents",
        "sessions",
        f"sessions/{session.id}/turns",
        f"sessions/{session.id}/events",
        "approvals",
        "imports",
        "usage",
    ):
        assert pointers(refused(api.get(path, {"limit": limit}), 422)) == {"/limit"}


@pytest.mark.parametrize("cursor", ["x", "AAAA", "bnVsbA", "WzFd", "W10", "WyJ4Il0", "ê", "a" * 3000, "WzFlOTk5XQ"])
def test_a_cursor_that_is_none_of_ours_is_refused(api, admin, session, cursor):
    for path in ("agents", "sessions", "approvals", "imports", "usage"):
        assert pointers(refused(api.get(path, {"cursor": cursor}), 422)) == {"/cursor"}


def test_nul_in_a_parameter_is_refused(api):
    for name in ("agent", "status", "tag", "q", "sort", "from", "cursor"):
        assert pointers(refused(api.get("sessions", {name: "a\0b"}), 422)) == {f"/{name}"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status", "asleep"),
        ("origin", "mail"),
        ("min_cost", "much"),
        ("min_cost", "NaN"),
        ("min_cost", "-1"),
        ("min_cost", "1e999"),
        ("has_errors", "perhaps"),
        ("needs_approval", "2"),
        ("sort", "beauty"),
        ("from", "yesterday"),
        ("to", "2026-02-30"),
        ("from", "0001-01-01T00:00:00+14:00"),
    ],
)
def test_a_filter_that_means_nothing_is_refused_by_name(api, name, value):
    assert pointers(refused(api.get("sessions", {name: value}), 422)) == {f"/{name}"}


def test_a_body_over_the_limit_is_413(api):
    with override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=1000):
        refused(api.post("agents", {"name": "x" * 2000}), 413)


def test_a_host_that_is_not_ours_is_a_problem(api):
    refused(api.client.get("/api/v1/agents", headers=api.headers | {"Host": "evil.example"}), 400)


def test_a_page_keeps_its_own_error(api):
    assert "problem" not in api.client.get("/nothing-here").headers["Content-Type"]


def test_server_error_is_a_problem_without_internals(api, monkeypatch):
    monkeypatch.setattr("sessions_app.api.agents.keyset", lambda *args: 1 / 0)
    problem = refused(api.get("agents"), 500)
    assert "zero" not in json.dumps(problem)


def test_texts_that_the_database_cannot_hold_are_kept_as_near_as_it_can(api):
    made = api.send(
        "POST", "agents", b'{"name": "a\\u0000b \\ud800", "metadata": {"\\u0000": [18446744073709551616, "\\udfff"]}}'
    )
    agent = ok(made, 201)
    assert agent["name"] == "a\N{REPLACEMENT CHARACTER}b \N{REPLACEMENT CHARACTER}"
    assert agent["metadata"] == {"\N{REPLACEMENT CHARACTER}": ["18446744073709551616", "\N{REPLACEMENT CHARACTER}"]}
