"""State: what is sent and what is answered."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from sessions_app import models
from sessions_app.services.state.values import LONGEST_KEY

from ..schemas.common import Body

Scope = Literal["session", "user", "app"]
Key = Annotated[str, Field(min_length=1, max_length=LONGEST_KEY)]
Version = Annotated[int, Field(ge=0, lt=2**31)]


class NewStateValue(Body):
    scope: Scope = "session"
    key: Key
    value: Any = Field(description="any JSON, of at most 256 KiB; null is a value, too")
    if_version: Version | None = Field(None, description="409 unless the key is at it; 0: unless there is none")


class StateValue(BaseModel):
    scope: Scope
    key: str
    value: Any
    version: int = Field(description="one more with every write and deletion")
    at: datetime
    by: str = Field(description="whose key or who wrote it last")

    @classmethod
    def from_row(cls, row: models.StateValue) -> StateValue:
        return cls(**{name: getattr(row, name) for name in cls.model_fields})


class Deleted(BaseModel):
    deleted: int = Field(description="values that were there")
