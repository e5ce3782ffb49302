"""State: what is sent and what is answered."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, FiniteFloat

from sessions_app import models
from sessions_app.services.state import values
from sessions_app.services.state.search import Found

from ..schemas.common import Body

Scope = Annotated[
    Literal["session", "user", "app"],
    Field(description="session: kept for this session; user: for its user_id with this agent; app: for its agent"),
]
Key = Annotated[str, Field(min_length=1, max_length=values.LONGEST_KEY)]
Version = Annotated[int, Field(ge=0, lt=2**31)]


class Embedding(Body):
    """A vector, and the name of the model that made it: vectors of two models are not compared."""

    model: Annotated[str, Field(min_length=1, max_length=200)]
    vector: Annotated[list[FiniteFloat], Field(min_length=1, max_length=values.LONGEST_VECTOR)]

    def as_kept(self) -> values.Embedding:
        """Raises ``Refused`` where it points nowhere."""
        return values.Embedding(self.model, self.vector)


class NewStateValue(Body):
    scope: Scope = "session"
    key: Key
    value: Any = Field(description="any JSON of at most 256 KiB; null is a value, too")
    embedding: Embedding | None = Field(
        None, description="to be found by it; without one the value is found by its words alone"
    )
    if_version: Version | None = Field(
        None, description="409 unless the key is at this version (0: unless there is no value); null: not checked"
    )


class StateValue(BaseModel):
    scope: Scope
    key: str
    value: Any
    version: int = Field(description="one more with every write and deletion")
    at: datetime
    by: str = Field(description="name of the key or member that wrote it last")

    @classmethod
    def from_row(cls, row: models.StateValue) -> StateValue:
        return cls(**{name: getattr(row, name) for name in cls.model_fields})


class StateSearch(Body):
    scope: Scope = "session"
    q: Annotated[str, Field(max_length=1000)] = ""
    embedding: Embedding | None = Field(
        None, description="of what you look for, made by the model that made those of the values"
    )
    prefix: Annotated[str, Field(max_length=values.LONGEST_KEY, description="only keys that begin so")] = ""
    limit: Annotated[int, Field(ge=1, le=500)] = 10


Method = Literal["pgvector", "full text"]


class FoundValue(StateValue):
    method: Method = Field(description="what it was found by")
    score: float = Field(description="the cosine of the two vectors, or the rank of its words")

    @classmethod
    def from_found(cls, found: Found) -> FoundValue:
        shown = StateValue.from_row(found.row).model_dump()
        return cls(**shown, method=found.method, score=found.score)


class FoundValues(BaseModel):
    method: Method = Field(description="`pgvector` where an embedding was sent and the database has pgvector")
    items: list[FoundValue] = Field(description="the best first")


class Deleted(BaseModel):
    deleted: int = Field(description="how many values were deleted")
