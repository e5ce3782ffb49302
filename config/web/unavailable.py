"""What is answered and logged when database or storage do not answer (503) or the disk is full (507): no traceback."""

from __future__ import annotations

import logging
import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.defaults import server_error

from config.web.error_pages import forget_form_that_cannot_be_read
from sessions_app.api.problems import with_detail
from sessions_app.services.upkeep import disk
from vcon_app.services.documents import storage

RETRY_SECONDS = 5
TOO_COMPLEX = "54"
"""SQLSTATE class of what the database cannot hold: that is a fault of ours, and no reason to try again."""


def is_unavailable(fault: BaseException | None) -> bool:
    """Whether the database is away, refuses connections, or has none free for us (``psycopg_pool.PoolTimeout``)."""
    if not isinstance(fault, (OperationalError, InterfaceError)):
        return False
    return not (getattr(fault.__cause__, "sqlstate", None) or "").startswith(TOO_COMPLEX)


def handler500(request: HttpRequest) -> HttpResponse:
    """The page of an exception that nobody caught; below the API's paths ``problem_details`` makes a problem of it."""
    fault = sys.exc_info()[1]
    if disk.is_full(fault):
        return render(None, "507.html", status=507)
    if isinstance(fault, storage.Missing):
        response = render(None, "503.html", {"part": "file"}, status=503)
        return with_detail(response, "a stored file is missing; whoever runs this desk can put it back from a backup")
    if not is_unavailable(fault) and not isinstance(fault, storage.Unavailable):
        forget_form_that_cannot_be_read(request)
        return server_error(request)
    part = "storage" if isinstance(fault, storage.Unavailable) else "database"
    response = render(None, "503.html", {"part": part}, status=503)
    response.headers["Retry-After"] = str(RETRY_SECONDS)
    return with_detail(response, f"the {part} does not answer; try again in a moment")


class OneLineWhileUnavailable(logging.Filter):
    """Leaves one line of what Django logs for such an answer: 184 webhooks were 184 tracebacks of 100 lines."""

    def filter(self, record: logging.LogRecord) -> bool:
        fault = record.exc_info[1] if record.exc_info else None
        is_storage = isinstance(fault, (storage.Missing, storage.Unavailable))
        if is_storage or is_unavailable(fault) or disk.is_full(fault):
            record.msg, record.args = f"{record.getMessage()}: {first_line(fault)}", ()
            record.exc_info, record.exc_text = None, None
        return True


def first_line(fault: BaseException | None) -> str:
    """The first line of what a fault says, or its name."""
    return (str(fault).strip() or type(fault).__name__).splitlines()[0]
