"""Absences: what is sent and what is answered."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, Field

from sessions_app import models
from sessions_app.services.escalations.absences import MOST_NOTE

from .common import Body, moment

Who = Annotated[str, Field(min_length=1, max_length=320)]
Moment = Annotated[datetime, BeforeValidator(moment)]


class NewAbsence(Body):
    """When a member is away. What an escalation step would tell them is told to the stand-in, too."""

    member: Who | None = Field(None, description="id or e-mail; null: yourself")
    stand_in: Who | None = Field(None, description="id or e-mail of a reviewer or an admin")
    begins_at: Moment | None = Field(None, description="null: now")
    ends_at: Moment = Field(description="a day or a time (UTC), at most 366 days after it begins")
    note: Annotated[str, Field(max_length=MOST_NOTE)] = ""


class MemberName(BaseModel):
    id: UUID
    name: str

    @classmethod
    def from_row(cls, member: models.Member | None) -> MemberName | None:
        return cls(id=member.pk, name=str(member)) if member else None


class Absence(BaseModel):
    id: UUID
    member: MemberName
    stand_in: MemberName | None
    begins_at: datetime
    ends_at: datetime
    note: str
    made_by: str

    @classmethod
    def from_row(cls, row: models.Absence) -> Absence:
        people = {"member": MemberName.from_row(row.member), "stand_in": MemberName.from_row(row.stand_in)}
        return cls(**people, **{name: getattr(row, name) for name in cls.model_fields if name not in people})
