"""A client of the JSON API, as a program would use it."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpResponse
from django.test import Client

PROBLEM = "application/problem+json"


class Api:
    """Sends JSON with an API key and reads JSON. Server errors come back as answers, as they do over HTTP."""

    def __init__(self, key: str | None) -> None:
        self.key = key
        self.client = Client(raise_request_exception=False)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    def get(self, path: str, query: dict[str, Any] | None = None, **headers: str) -> HttpResponse:
        return self.client.get(_address(path), query, headers=self.headers | headers)

    def post(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return self.send("POST", path, json.dumps(body if body is not None else {}), **headers)

    def patch(self, path: str, body: Any) -> HttpResponse:
        return self.send("PATCH", path, json.dumps(body))

    def send(
        self, method: str, path: str, content: str | bytes, type_: str = "application/json", **headers: str
    ) -> HttpResponse:
        """A body as it stands."""
        return self.client.generic(method, _address(path), content, type_, headers=self.headers | headers)

    def upload(self, file: Any, fields: dict[str, str] | None = None, **headers: str) -> HttpResponse:
        return self.client.post("/api/v1/imports", {"file": file, **(fields or {})}, headers=self.headers | headers)

    def all(self, path: str, query: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """Every row of a list, page by page."""
        rows, cursor = [], None
        while True:
            page = ok(self.get(path, (query or {}) | ({"cursor": cursor} if cursor else {})))
            rows += page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return rows


def _address(path: str) -> str:
    return path if path.startswith("/") else f"/api/v1/{path}"


def ok(response: HttpResponse, status: int = 200) -> Any:
    """The body of an answer with the expected status."""
    assert response.status_code == status, (response.status_code, response.content[:2000])
    return json.loads(response.content)


def refused(response: HttpResponse, status: int) -> dict[str, Any]:
    """The problem of an answer with the expected status, which has what RFC 9457 asks for."""
    assert response.status_code == status, (response.status_code, response.content[:2000])
    assert response.headers["Content-Type"] == PROBLEM
    problem = json.loads(response.content)
    assert {"type", "title", "status", "detail"} <= problem.keys()
    assert problem["status"] == status
    return problem


def pointers(problem: dict[str, Any]) -> set[str]:
    return {error["pointer"] for error in problem["errors"]}
