"""What several commands take from the command line."""

from __future__ import annotations

from uuid import UUID

from django.core.management.base import CommandError, CommandParser

from sessions_app.models import Session, Workspace
from sessions_app.services import workspaces


def add_workspace(parser: CommandParser) -> None:
    """``--workspace SLUG``."""
    parser.add_argument(
        "--workspace", metavar="SLUG", default=workspaces.DEFAULT, help="slug of the workspace; default: %(default)s"
    )


def workspace_named(slug: str) -> Workspace:
    """The workspace of this slug; the default one is made when it is not there yet."""
    if slug == workspaces.DEFAULT:
        return workspaces.default_workspace()
    workspace = Workspace.objects.filter(slug=slug).first()
    if workspace is None:
        known = ", ".join(Workspace.objects.order_by("slug").values_list("slug", flat=True))
        raise CommandError(f'there is no workspace "{slug}"; there is {known}')
    return workspace


def session_of(text: str) -> Session:
    """The session with this id, of whatever workspace: who runs commands here may read them all."""
    try:
        session = Session.objects.select_related("agent").filter(pk=UUID(text)).first()
    except ValueError:
        raise CommandError(f'"{text}" is no session id; it looks like 0198c0de-1234-7abc-8def-0123456789ab') from None
    if session is None:
        raise CommandError(f"there is no session {text}")
    return session
