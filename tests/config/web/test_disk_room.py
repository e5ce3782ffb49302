"""A disk that is full is 507 with a sentence, wherever it shows: before the body, while it comes, in the database."""

from __future__ import annotations

import asyncio
import errno
import json
from typing import Any

import psycopg
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.utils import OperationalError
from django.test import Client

from config import doctor, health
from config.web import disk_room
from config.web.disk_room import DiskRoom
from sessions_app.models import Role
from sessions_app.services import audit
from sessions_app.services.people import api_keys, members
from sessions_app.services.upkeep import disk
from vcon_app.models import Import
from vcon_app.services.documents import storage

NO_SPACE = OSError(errno.ENOSPC, "No space left on device")


def answered(application: Any, length: int, path: str = "/api/v1/imports") -> tuple[int, bytes]:
    """Status and body of a POST to an ASGI application."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"x" * min(length, 10), "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = [(b"content-length", str(length).encode())]
    scope = {"type": "http", "method": "POST", "path": path, "headers": headers}
    asyncio.run(DiskRoom(application)(scope, receive, send))
    return sent[0]["status"], sent[1]["body"]


async def takes_everything(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"taken"})


async def finds_no_room(scope: Any, receive: Any, send: Any) -> None:
    raise NO_SPACE


def test_a_body_that_fits_is_taken():
    assert answered(takes_everything, 2_000_000) == (200, b"taken")


def test_a_large_body_is_refused_before_it_comes_where_there_is_no_room(monkeypatch):
    monkeypatch.setattr(disk_room, "_free", lambda: 30_000_000)
    assert answered(takes_everything, 5_000_000)[0] == 200
    assert answered(takes_everything, 500_000)[0] == 200
    status, body = answered(takes_everything, 8_000_000)
    assert (status, json.loads(body)["detail"]) == (507, disk.REFUSED)


def test_what_the_server_cannot_write_down_is_no_plain_500():
    status, body = answered(finds_no_room, 100)
    assert (status, json.loads(body)["status"]) == (507, 507)
    status, body = answered(finds_no_room, 100, "/imports/")
    assert (status, b"The disk of the server is full" in body) == (507, True)


def test_another_fault_is_left_as_it_is():
    async def fails(scope: Any, receive: Any, send: Any) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with pytest.raises(OSError, match="Input/output"):
        answered(fails, 100)


@pytest.fixture
def full_storage(monkeypatch, document_storage):
    """A storage in which nothing more can be named."""

    def take(self: storage.Folder, path: Any, name: str) -> None:
        raise NO_SPACE

    monkeypatch.setattr(storage.Folder, "take", take)


@pytest.fixture
def full_database(monkeypatch):
    """What PostgreSQL says when it cannot make a table longer."""

    def record(*args: Any, **details: Any) -> None:
        fault = psycopg.errors.DiskFull(
            'could not extend file "base/1/2": No space left on device\nHINT: Check free disk space.'
        )
        raise OperationalError(str(fault)) from fault

    monkeypatch.setattr(audit, "record", record)


def upload(client: Client, path: str, **headers: str) -> Any:
    return client.post(path, {"file": SimpleUploadedFile("a.jsonl", b"{}\n")}, headers=headers)


@pytest.mark.parametrize("where", ["full_storage", "full_database"])
def test_an_upload_is_answered_507_and_nothing_is_left(where, workspace, document_storage, request):
    key = api_keys.create_api_key(workspace, "k", Role.REVIEWER, by=audit.COMMAND)[1]
    member, _ = members.add_member(workspace, "rosa@example.org", "Rosa", Role.REVIEWER, by=audit.COMMAND)
    client = Client(raise_request_exception=False)
    client.force_login(member.user)
    request.getfixturevalue(where)
    answer = upload(Client(raise_request_exception=False), "/api/v1/imports", Authorization=f"Bearer {key}")
    assert (answer.status_code, answer.json()["detail"]) == (507, disk.REFUSED)
    page = upload(client, "/imports/")
    assert (page.status_code, b"The disk of the server is full" in page.content) == (507, True)
    assert not Import.objects.exists()


@pytest.mark.django_db
def test_the_doctor_says_it_in_one_line(monkeypatch):
    def full(seconds: int) -> str | None:
        fault = psycopg.errors.DiskFull("could not extend file\nHINT: Check free disk space.")
        raise OperationalError(str(fault)) from fault

    monkeypatch.setattr(doctor, "worker_fault", full)
    assert {check.name: check.fault for check in doctor.diagnose()}["worker"] == "the disk is full"
    assert health.first_line(OperationalError("one\ntwo")) == "one"
