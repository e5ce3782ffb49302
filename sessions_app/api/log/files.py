"""Files that a session changed, and what differs between two versions of one."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from sessions_app.models import ChangedFile as ChangedFileRow
from sessions_app.models import FileScan
from sessions_app.queries.log import file_changes as queries
from sessions_app.services.log import file_changes

from ..auth import own_viewer
from ..paging import Cursor, Limit, keyset
from ..parsing import reply
from ..problems import invalid, not_found
from ..schemas.files import ChangedFile, DiffQuery, FileDiff, FileList, FileSums
from ..sessions import session_read

router = Router(tags=["files"])


@router.get("/sessions/{uuid:session_id}/files", auth=own_viewer, response=FileList)
def list_files(request: HttpRequest, session_id: UUID, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the files that a session changed, by path, as its tool calls say. The files themselves are not looked at."""
    session = session_read(request, session_id)
    file_changes.read_on(session.pk)
    scan = queries.scan_of(session.pk) or FileScan()
    found = ChangedFileRow.objects.filter(session=session)
    rows, next_cursor = keyset(found, "path", limit, cursor, str, ascending=True)
    total = FileSums(
        files=scan.files, edits=scan.edits, added=scan.added, removed=scan.removed, unknown=scan.shell
    )  # fmt: skip
    items = [ChangedFile.from_row(row) for row in rows]
    return reply(
        FileList(
            items=items, next_cursor=next_cursor, total=total, read_to_seq=scan.seq, last_seq=session.last_seq
        )  # fmt: skip
    )


@router.get("/sessions/{uuid:session_id}/files/diff", auth=own_viewer, response=FileDiff)
def read_file_diff(request: HttpRequest, session_id: UUID, wanted: Query[DiffQuery]) -> HttpResponse:
    """Compare two versions of a file: unless others are named, before its first and after its last change."""
    session = session_read(request, session_id)
    if not wanted.path:
        raise invalid("/path", "name a file, as the list of files names it")
    file_changes.read_on(session.pk)
    view = queries.file_at(session, wanted.path, wanted.version, wanted.from_)
    if view is None:
        raise not_found("file")
    return reply(FileDiff.from_view(view))
