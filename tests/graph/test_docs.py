"""The page about the graph: what it sends is taken, and what it names is there."""

from __future__ import annotations

import json
import re

from django.test import Client

from sessions_app.services import audit
from sessions_app.services import sessions as session_services
from tests.api.client import ok
from tests.places import DOCS
from tests.services.build import answer, append, user

PAGE = (DOCS / "graph.md").read_text()


def test_what_the_page_sends_is_taken(api, agent):
    session = session_services.create(agent, by=audit.COMMAND, title="Triage")
    append(session, user("Go"), answer())
    decision, evidence, change = (json.loads(block) for block in re.findall(r"```json\n(.+?)```", PAGE, re.S))
    made = ok(api.post(f"sessions/{session.pk}/decisions", decision), 201)
    proof = ok(api.post(f"sessions/{session.pk}/evidence", evidence | {"decision_id": made["id"]}), 201)
    assert proof["fields"].keys() >= {"quote", "summary", "direction", "evidence_rigor", "evidence_source"}
    moved = ok(api.patch(f"sessions/{session.pk}/decisions/{made['id']}", change))
    assert moved["status"] == change["status"]


def test_the_addresses_of_the_page_are_those_of_the_api(db):
    paths = {re.sub(r"{\w+}", "ID", path) for path in ok(Client().get("/api/v1/openapi.json"))["paths"]}
    named = re.findall(r"`(?:GET|POST|PATCH) (/api/v1/[\w/]+)", PAGE)
    assert len(named) == 7 and {name.replace("DECISION", "ID") for name in named} <= paths
