"""Columns that several tables share."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, TypedDict

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.expressions import Expression
from psycopg.types.json import Json

from sessions_app import encryption


class Digits(TypedDict):
    """What a ``DecimalField`` is told of its column."""

    max_digits: int
    decimal_places: int


AMOUNT: Digits = {"max_digits": 20, "decimal_places": 10}
"""US dollars."""


class Exact(models.Field):  # type: ignore[type-arg]  # generic in the stubs alone, not in Django
    """A number of any size and with any number of digits after the point: sums of shares are rounded when shown."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "numeric"


class Tokens(models.Model):
    """Token counts; NULL is "not said". The first four never overlap; reasoning is part of output."""

    input_tokens = models.BigIntegerField(null=True)
    cache_read_tokens = models.BigIntegerField(null=True)
    cache_write_tokens = models.BigIntegerField(null=True)
    output_tokens = models.BigIntegerField(null=True)
    reasoning_tokens = models.BigIntegerField(null=True)

    class Meta:
        abstract = True

    @property
    def total_tokens(self) -> int | None:
        """Everything that was billed; None when the source says nothing at all."""
        parts = (self.input_tokens, self.cache_read_tokens, self.cache_write_tokens, self.output_tokens)
        known = [part for part in parts if part is not None]
        return sum(known) if known else None


class Money(models.Model):
    """A sum over model requests: recorded and priced parts apart, and what no price was known for."""

    cost_recorded = models.DecimalField(null=True, **AMOUNT)
    cost_priced = models.DecimalField(null=True, **AMOUNT)
    unpriced_tokens = models.BigIntegerField(default=0)
    copied_tokens = models.BigIntegerField(default=0)
    """Of responses that are repeated from another session, and counted there and in no sum here."""
    under_reported = models.IntegerField(default=0)
    """Responses whose output the recorder did not count to the end: tokens and cost are at least what is stated."""
    tool_cost: Decimal | None = None
    """US dollars of tool calls. Not a column: ``queries.money.paid_calls`` sets it."""

    class Meta:
        abstract = True

    @property
    def cost_amount(self) -> Decimal | None:
        """US dollars, recorded before priced; "at least" when ``unpriced_tokens``. None is unknown, not free."""
        if self.cost_recorded is None and self.cost_priced is None:
            return None
        return (self.cost_recorded or Decimal(0)) + (self.cost_priced or Decimal(0))

    @property
    def whole_cost(self) -> Decimal | None:
        """``cost_amount`` with what tool calls cost, where that was noted: see ``queries.money.paid_calls``."""
        return self.cost_amount if self.tool_cost is None else (self.cost_amount or Decimal(0)) + self.tool_cost

    @property
    def cost_basis(self) -> str:
        """recorded (stated by the recorder), priced (from a price table), mixed or none."""
        if self.cost_recorded is not None:
            return "recorded" if self.cost_priced is None else "mixed"
        return "none" if self.cost_priced is None else "priced"


class AsWrittenJSON(models.JSONField):
    """JSON kept as text (``json``, not ``jsonb``): a person reads the keys in the order in which they were sent."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "json"

    def get_db_prep_value(self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False) -> Json:
        return Json(value)

    def from_db_value(self, value: Any, expression: Expression, connection: BaseDatabaseWrapper) -> Any:
        return value  # psycopg has parsed it; Django knows only jsonb, which it leaves to itself


class EncryptedText(models.TextField):  # type: ignore[type-arg]  # generic in the stubs alone, not in Django
    """A secret: encrypted at rest with a key derived from ``SECRET_KEY``. See ``sessions_app.encryption``."""

    def get_prep_value(self, value: str | None) -> str | None:
        return encryption.encrypt(value) if value else value

    def from_db_value(self, value: str | None, expression: Expression, connection: BaseDatabaseWrapper) -> str | None:
        return encryption.decrypt(value) if value else value
