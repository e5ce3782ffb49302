"""A field that a body does not know is refused by its name, on every route: what is misspelt must not be dropped."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.test import Client

from sessions_app.models import Agent, Approval, Budget, Event, Session
from vcon_app.models import Import

from .client import Api, ok, pointers, refused
from .things import address

FREE = {
    ("NewAgent", "policy"), ("NewAgent", "environment"), ("NewAgent", "metadata"), ("NewAgent", "tools"),
    ("AgentChanges", "policy"), ("AgentChanges", "environment"), ("AgentChanges", "metadata"),
    ("AgentChanges", "tools"), ("NewSession", "metadata"), ("OpenedSession", "metadata"),
    ("AskedTool", "arguments"), ("Decision", "arguments"),
    ("SentTool", "arguments"), ("SentTool", "result"), ("SentEvent", "data"), ("NewVerdict", "scores"),
}  # fmt: skip
"""Objects whose content is the sender's own. Whoever adds one says so here."""
FORMS = {("post", "/api/v1/imports")}
"""Operations whose body is a form: tested by hand below."""


@pytest.fixture
def schema(db) -> dict[str, Any]:
    return ok(Client().get("/api/v1/openapi.json"))


def operations(schema: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Method, path and description of every operation that may be sent a body."""
    return [
        (method, path, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
        if method in ("post", "put", "patch") and (method, path) not in FORMS
    ]


def body_schema(operation: dict[str, Any]) -> dict[str, Any]:
    return operation["requestBody"]["content"]["application/json"]["schema"]


def objects_in(node: Any, schemas: dict[str, Any], place: tuple[str, str]) -> list[tuple[tuple[str, str], dict]]:
    """Every object of a schema, with the schema and property that it is the value of."""
    if isinstance(node, list):
        return [found for one in node for found in objects_in(one, schemas, place)]
    if not isinstance(node, dict):
        return []
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[-1]
        return objects_in(schemas[name], schemas, (name, ""))
    found = [(place, node)] if "object" in str(node.get("type", "")) or "properties" in node else []
    for name, value in node.get("properties", {}).items():
        found += objects_in(value, schemas, (place[0], name))
    for inner in ("anyOf", "oneOf", "allOf", "items", "prefixItems"):
        found += objects_in(node.get(inner), schemas, place)
    return found


def test_every_object_of_every_body_is_closed_but_for_those_that_are_declared_free(schema):
    seen, schemas = set(), schema["components"]["schemas"]
    for method, path, operation in operations(schema):
        assert "requestBody" in operation, f"{method} {path} says nothing of its body; give it NoBody"
        for place, node in objects_in(body_schema(operation), schemas, (f"{method} {path}", "")):
            seen.add(place)
            if place not in FREE:
                assert node.get("additionalProperties") is False, (method, path, place)
    assert {place for place in FREE if place[1] not in ("tools", "result", "arguments")} <= seen


def test_every_route_refuses_a_field_that_it_does_not_know(schema, admin, things):
    """Whatever else is wrong with the body."""
    walked = 0
    for method, path, _ in operations(schema):
        answer = admin.send(method.upper(), address(path, things), json.dumps({"no_such/field": 1}))
        if path.endswith("/v1/traces"):  # in the words of its protocol: tests/api/spans
            assert '"no_such/field"' in ok(answer, 422)["message"]
            continue
        problem = refused(answer, 422)
        assert "/no_such~1field" in pointers(problem), (method, path, problem)
        assert any('"no_such/field"' in error["detail"] for error in problem["errors"]), (method, path)
        walked += 1
    assert walked >= 25


def test_every_route_refuses_a_query_parameter_that_it_does_not_know(schema, admin, things):
    """A filter that is misspelt must not give all rows; a stream, too, is refused before it begins."""
    walked = 0
    for path, methods in schema["paths"].items():
        for method in methods.keys() - {name for name, form in FORMS if form == path}:
            if path.endswith(("{session_id}/export", "/export/report")):
                continue  # has the options of its format: tests/api/test_export_options.py
            answer = admin.send(method.upper(), f"{address(path, things)}?misspelt=1", json.dumps({"no_such": 1}))
            if path.endswith("/v1/traces"):  # in the words of its protocol: tests/api/spans
                assert '"misspelt"' in ok(answer, 422)["message"]
                continue
            problem = refused(answer, 422)
            detail = next(error["detail"] for error in problem["errors"] if error["pointer"] == "/misspelt")
            assert '"misspelt"' in detail, (method, path)
            walked += 1
    assert walked >= 150


def test_parameters_that_are_known_are_taken_and_the_unknown_one_is_named(api, session, stranger):
    problem = refused(api.get("sessions", {"limit": 1, "agnet": "x"}), 422)
    assert pointers(problem) == {"/agnet"} and problem["errors"][0]["in"] == "query"
    assert pointers(refused(api.get("sessions", {"limit": 0, "agnet": "x"}), 422)) == {"/limit", "/agnet"}
    refused(stranger.send("POST", f"sessions/{session.id}/events?x=1", json.dumps({"events": []})), 404)


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        ("approvals", {"agent": "A", "tool": {"name": "t", "arguments": {}, "argument": 1}}, "/tool/argument"),
        ("approvals", {"agent": "A", "tool": {"name": "t", "arguments": {}}, "expires_at": "2026-01-01"},
         "/expires_at"),
        ("sessions/{s}/events", {"events": [{"client_id": "1", "kind": "note", "txt": "x"}]}, "/events/0/txt"),
        ("sessions/{s}/events",
         {"events": [{"client_id": "1", "kind": "note"}, {"client_id": "2", "kind": "note",
          "actor": {"kind": "agent", "id": 1}}]}, "/events/1/actor/id"),
        ("sessions/{s}/events", {"events": [{"client_id": "1", "kind": "note", "tool": {"args": {}}}]},
         "/events/0/tool/args"),
        ("sessions/{s}/events", {"events": [{"client_id": "1", "kind": "note", "usage": {"input": 1}}]},
         "/events/0/usage/input"),
        ("sessions/{s}/events", {"events": [{"client_id": "1", "kind": "note", "cost": {"amount": "1", "usd": 1}}]},
         "/events/0/cost/usd"),
    ],
)  # fmt: skip
def test_nothing_is_done_when_a_field_inside_is_unknown(api, session, path, body, pointer):
    problem = refused(api.post(path.format(s=session.id), body), 422)
    assert pointers(problem) == {pointer}
    assert not Approval.objects.exists() and not Event.objects.exists() and Agent.objects.count() == 1


def test_a_mistyped_budget_for_an_agent_does_not_become_one_for_the_workspace(admin, agent):
    body = json.dumps({"amount": "5", "agent_id": str(agent.id)})
    assert pointers(refused(admin.send("PUT", "budgets", body), 422)) == {"/agent_id"}
    assert not Budget.objects.exists()


def test_what_is_the_senders_own_may_hold_anything(api, session):
    event = {"client_id": "1", "kind": "note", "data": {"x": {"y": 1}}, "tool": {"arguments": {"z": [{}]}}}
    ok(api.post(f"sessions/{session.id}/events", {"events": [event]}))
    ok(api.post("approvals", {"agent": "A", "tool": {"name": "t", "arguments": {"any": {"thing": 1}}}}), 201)


def test_a_cost_is_taken_as_the_api_writes_it(api, session):
    cost = {"amount": "0.5", "currency": "USD", "basis": "recorded", "unpriced_tokens": 0}
    events = [
        {"client_id": "1", "kind": "agent_message", "text": "a", "usage": {"output_tokens": 1}, "cost": cost},
        {"client_id": "2", "kind": "agent_message", "text": "b", "usage": {"output_tokens": 1}, "cost": "0.25"},
        {"client_id": "3", "kind": "agent_message", "text": "c", "usage": {"output_tokens": 1}, "cost": 0.25},
    ]
    ok(api.post(f"sessions/{session.id}/events", {"events": events}))
    assert ok(api.get(f"sessions/{session.id}"))["cost"]["amount"] == "1.000000"
    euro = {"client_id": "4", "kind": "note", "cost": {"amount": "1", "currency": "EUR"}}
    assert pointers(refused(api.post(f"sessions/{session.id}/events", {"events": [euro]}), 422)) == {
        "/events/0/cost/currency"
    }


@pytest.mark.parametrize("fields", [{"agnet": "A"}, {"format": "auto", "title": "x"}])
def test_an_upload_with_a_field_that_is_unknown_is_not_taken_in(api, document_storage, fields):
    file = io.BytesIO(b"{}")
    file.name = "a.json"
    unknown = next(name for name in fields if name != "format")
    assert pointers(refused(api.upload(file, fields), 422)) == {f"/{unknown}"}
    assert not Import.objects.exists()


def test_an_upload_with_a_second_file_of_another_name_is_not_taken_in(api: Api, document_storage):
    first, second = io.BytesIO(b"{}"), io.BytesIO(b"{}")
    first.name = second.name = "a.json"
    answer = api.client.post("/api/v1/imports", {"file": first, "other": second}, headers=api.headers)
    assert pointers(refused(answer, 422)) == {"/other"}
    answer = api.client.post("/api/v1/imports?agent=A", {"file": io.BytesIO(b"{}")}, headers=api.headers)
    assert pointers(refused(answer, 422)) == {"/agent"}
    assert not Import.objects.exists()


@pytest.mark.parametrize(("texts", "files", "field", "says"), [
    ({"log": "store.db-wal"}, ("file",), "/log", "log=@PATH"),
    ({"file": "store.db"}, (), "/file", "file=@PATH"),
    ({}, ("file", "agent"), "/agent", "has to be text"),
    ({"agent": "A" * 201}, ("file",), "/agent", "201 characters; use at most 200"),
])  # fmt: skip
def test_what_an_upload_would_leave_out_in_silence_is_refused(api: Api, document_storage, texts, files, field, says):
    """Of ``curl -F log=store.db-wal``, without the @, the rows in that file were missing, and nobody was told."""
    fields = dict(texts)
    for name in files:
        fields[name] = io.BytesIO(b"{}")
        fields[name].name = "a.json"
    problem = refused(api.client.post("/api/v1/imports", fields, headers=api.headers), 422)
    assert pointers(problem) == {field} and says in problem["detail"]
    assert not Import.objects.exists() and not Agent.objects.exists()


def test_a_route_without_a_body_takes_none_an_empty_one_and_no_other(api, agent):
    path = f"/dashboard/agents/{agent.id}/sessions"
    session = ok(api.post(path), 201)["id"]
    ok(api.send("POST", f"{path}/{session}/archive", b""))
    ok(api.post(f"{path}/{session}/archive", {}))
    assert pointers(refused(api.post(f"{path}/{session}/archive", {"why": "done"}), 422)) == {"/why"}
    assert Session.objects.get(pk=session).status == "archived"
