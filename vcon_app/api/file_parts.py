"""What the file of a session holds beside its events, over the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router
from pydantic import BaseModel, Field

from sessions_app.api.auth import own_viewer
from sessions_app.api.parsing import reply
from sessions_app.api.problems import Problem
from sessions_app.api.sessions import session_read
from vcon_app.formats import file_parts as parts
from vcon_app.services.documents.file_rest import parts_beside_events

router = Router(tags=["sessions"])
FAULTS: dict[type[Exception], Callable[[Any], Problem]] = {}


class Value(BaseModel):
    place: str = Field(description="JSON pointer (RFC 6901) in the file")
    text: str
    size: int = Field(description="characters of the whole value, where `text` is only its beginning; else 0")

    @classmethod
    def of(cls, value: parts.Value) -> Value:
        return cls(place=value.place, text=value.text, size=value.size)


class FilePart(BaseModel):
    title: str
    place: str
    values: list[Value]


class FileParts(BaseModel):
    """Parties, analyses, attachments, nodes, blocks, and every other member that became no event, as the
    file has it.
    """

    parts: list[FilePart]
    left_out: int = Field(description="values that were left out for want of room; the export `original` has them")
    is_whole: bool = Field(
        description="whether all of the file was read (up to 8 MB and 20,000 events); else the export `original` has it"
    )


@router.get("/sessions/{uuid:session_id}/file-parts", auth=own_viewer, response=FileParts)
def read_file_parts(
    request: HttpRequest,
    session_id: UUID,
    q: Annotated[str, Query(description="only values with these words in place, text or title", max_length=200)] = "",
) -> HttpResponse:
    """Return what the file of a session holds beside its events: every value with its place, as the file has it."""
    found = parts_beside_events(session_read(request, session_id), q.strip())
    told = [
        FilePart(title=part.title, place=part.place, values=[Value.of(value) for value in part.values])
        for part in found.parts
    ]  # fmt: skip
    return reply(FileParts(parts=told, left_out=found.left_out, is_whole=found.is_whole))
