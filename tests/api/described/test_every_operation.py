"""Every operation answers as its description says, whatever it is sent: no 500, no status, type or shape of its own.

The requests are schemathesis's: the edges of each value, what breaks its schema, and some that fit. They are the same
in each run. What it calls "schema-valid request rejected" is left out: a cursor of another list, a name that is taken
and a member who left are sound by any schema, and refused.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest
import requests
import schemathesis
from django.http.response import HttpResponseBase
from django.test import Client
from hypothesis import HealthCheck, settings
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.core.parameters import ParameterLocation
from schemathesis.core.transport import Response
from schemathesis.generation.meta import negated_parameters
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from config.api import api as described

EXAMPLES = 12
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
ENDLESS = r"/(stream|replay)$"
"""Paths of event streams, which other tests read."""
FILES = r"/(export|report|file|evidence|snapshot|archive)$|^/api/v1/approvals/\{approval_id\}$"
"""Paths whose answers leave the transaction of a test: they are written by another thread."""

load_all_checks()


def without_keys() -> dict[str, Any]:
    """The description but for who may call: every call here is an admin's, and tests/api/rights is about the others."""
    document = deepcopy(dict(described.get_openapi_schema()))
    for methods in document["paths"].values():
        for operation in methods.values():
            operation.pop("security", None)
    return document


schema = schemathesis.openapi.from_dict(
    without_keys(),
    config=SchemathesisConfig.from_dict({"generation": {"deterministic": True, "max-examples": EXAMPLES}}),
).exclude(path_regex=ENDLESS)
whatever_is_generated = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@schema.exclude(path_regex=FILES).parametrize()
@whatever_is_generated
@pytest.mark.django_db
def test_an_answer_is_as_described(case: schemathesis.Case, admin, things):
    check(case, admin.key, things)


@schema.include(path_regex=FILES).parametrize()
@whatever_is_generated
@pytest.mark.django_db(transaction=True)
def test_a_file_is_as_described(case: schemathesis.Case, admin, things):
    check(case, admin.key, things)


def check(case: schemathesis.Case, key: str, things: dict[str, UUID]) -> None:
    """Ask for what is there, whatever id was generated, and look whether the answer is as it must be."""
    was_for_nothing = any(location == ParameterLocation.PATH for _, location in negated_parameters(case.meta))
    there = {name: str(things[name]) for name in case.path_parameters or {} if name in things}
    case.path_parameters = {**(case.path_parameters or {}), **there}
    if case.query:
        case.query.pop("wait", None)  # a minute of waiting for a decision is nothing new
    checks = CHECKS if there and was_for_nothing else [*CHECKS, negative_data_rejection]
    case.validate_response(sent(case, key), checks=checks)


def sent(case: schemathesis.Case, key: str) -> Response:
    """The answer of the desk to a case, sent as `requests` would put it on the wire."""
    signed = case.as_transport_kwargs(base_url="http://testserver", headers={"Authorization": f"Bearer {key}"})
    wire = requests.Request(**signed).prepare()
    address = urlsplit(str(wire.url))
    headers = {name: value for name, value in wire.headers.items() if name != "Content-Length"}
    answer = Client(raise_request_exception=False).generic(
        str(wire.method),
        address.path + (f"?{address.query}" if address.query else ""),
        body(wire.body),
        headers.pop("Content-Type", ""),
        headers=headers,
    )
    return as_received(answer, wire)


def body(content: Any) -> bytes:
    return content.encode() if isinstance(content, str) else content or b""


def as_received(answer: HttpResponseBase, wire: requests.PreparedRequest) -> Response:
    content = b"".join(answer) if answer.streaming else answer.content  # type: ignore[attr-defined]
    headers = {name: [value] for name, value in answer.headers.items()}
    return Response(answer.status_code, headers, content, wire, elapsed=0, verify=True)
