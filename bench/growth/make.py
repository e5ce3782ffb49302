"""Fills an installation, in a process that has its environment: ``python -m bench.growth.make SESSIONS``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic

import django

django.setup()

from django.db import connection  # noqa: E402
from django.utils import timezone  # noqa: E402

from config.database import roles  # noqa: E402
from sessions_app.services import workspaces  # noqa: E402

from . import copying, plan, rows, templates  # noqa: E402


def make(sessions: int, counts: templates.Counts = templates.Counts()) -> list[plan.Copy]:  # noqa: B008
    """So many sessions with all that belongs to them, of which nine of ten are in the default workspace.

    Call as the owner of the database for more than ``copying.BATCH``.
    """
    say = _clock()
    made = templates.make(counts)
    say(f"{len(made)} templates")
    slugs = (workspaces.default_workspace().slug, "second")
    places = [plan.Place(*templates.workspace_with_agents(slug)) for slug in slugs]
    planned = list(plan.copies(made, places, sessions, timezone.now()))
    plan.store(planned)
    copying.copy_sessions(sessions)
    say(f"{sessions:,} sessions")
    rows.copy_imports()
    rows.copy_approvals(planned)
    rows.write_audit(planned)
    say("imports, approvals, audit entries")
    plan.drop()
    return planned


def _clock() -> Callable[[str], None]:
    began = monotonic()

    def say(what: str) -> None:
        print(f"{monotonic() - began:7.1f} s  {what}", flush=True)

    return say


if __name__ == "__main__":
    roles.become_owner()
    make(int(sys.argv[1]))
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
