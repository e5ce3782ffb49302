"""Requests for every operation that is described: the edges of each value, what breaks its schema, and some that fit.

They are schemathesis's, and the same in each run. What it calls "schema-valid request rejected" is left out: a cursor
of another list, a name that is taken and a member who left are sound by any schema, and refused.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import requests
import schemathesis
from django.http.response import HttpResponseBase
from django.test import Client
from hypothesis import HealthCheck, settings
from ninja.openapi.schema import OpenAPISchema
from schemathesis.checks import not_a_server_error
from schemathesis.core.parameters import ParameterLocation
from schemathesis.core.transport import Response
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.generation.meta import negated_parameters
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from config.api import api as described

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


def path_of(name: str) -> str:
    return name.split(" ")[1]


class Names(OpenAPISchema):
    """Methods and paths alone: a process that runs none of these tests has to know no more of it than the names."""

    def operation_details(self, operation: Any) -> dict[str, Any]:
        return {}


PATHS = Names(described, described.get_root_path({}))["paths"]
NAMES = [f"{method.upper()} {path}" for path, methods in PATHS.items() for method in methods if method != "head"]
ENDING = [name for name in NAMES if not re.search(ENDLESS, path_of(name))]
OF_FILES = [name for name in ENDING if re.search(FILES, path_of(name))]
# How long it takes to make a value says how busy the machine is, and nothing of what is tested.
UNCHECKED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
whatever_is_generated = settings(suppress_health_check=UNCHECKED, deadline=None)


def ask(schema: Any, values: FeedbackSources, name: str, key: str, things: dict[str, UUID]) -> None:
    """All requests for an operation: made here and not, as by ``schema.parametrize()``, where tests are collected."""
    method, path = name.split(" ")
    test = build_operation_test(
        config=schema.config,
        operation=schema[path][method],
        test_func=check,
        given_kwargs={},
        feedback=values,
    )
    test(key=key, things=things)


@whatever_is_generated
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
