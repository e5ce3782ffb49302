"""A desk with a history: everything that hangs on a session or stands beside it, copied in SQL as often as one likes.

Copies are made table by table from what a few calls of the product wrote, so that a column or table that is added later
is copied, too. Each copy lies eight hours before the one before it: a day has three, however many there are.
"""

from __future__ import annotations

from django.apps import apps
from django.contrib.postgres.search import SearchVectorField
from django.db.models import DateTimeField, Field, ForeignKey, Model, UUIDField

from sessions_app.models import (
    AgentDay,
    AgentDayChange,
    Approval,
    AuditEntry,
    LedgerEntry,
    Session,
    SessionMeasures,
    SessionUsage,
    TriggerRun,
    WebhookDelivery,
)
from tests import database_roles
from vcon_app.models import Import

ROOTS: tuple[type[Model], ...] = (Session, Approval, Import, WebhookDelivery)
"""What is copied with all that refers to it."""
BESIDE: tuple[type[Model], ...] = (AuditEntry, LedgerEntry, TriggerRun)
"""What is copied by itself."""
BY_TRIGGER = {SessionMeasures, SessionUsage, AgentDay, AgentDayChange}
NUMBERED = {"fire_key", "delivery_id", "external_id", "event"}
"""Texts that are there once in a workspace."""
IN_ORDER = {AuditEntry: "seq", LedgerEntry: "seq"}
"""Numbers in a chain: those of a copy come after all that there are."""
HOURS = 8
DECIDED = {"sessions_app_approval": "WHERE status <> 'pending'"}
"""What waits for a person does not grow with the history: it is not copied."""


def copied_models() -> list[type[Model]]:
    """Every model whose rows are copied, sessions first: rows of the search index say when they began."""
    found = {*ROOTS, *BESIDE}
    for model in apps.get_models():
        if any(isinstance(field, ForeignKey) and field.related_model in ROOTS for field in model._meta.fields):
            found.add(model)
    return sorted(found - BY_TRIGGER, key=lambda model: (model is not Session, model._meta.label))


class Template:
    """The rows that there are now, kept aside to be copied."""

    def __init__(self) -> None:
        self.models = copied_models()
        with database_roles.as_owner() as cursor:
            for model in self.models:
                name = model._meta.db_table
                cursor.execute(
                    f"CREATE TEMP TABLE t_{name} ON COMMIT DROP AS SELECT * FROM {name} {DECIDED.get(name, '')}"
                )

    def copy(self, first: int, last: int) -> None:
        """Copies ``first`` to ``last``, and statistics of all tables, as autovacuum would gather them."""
        with database_roles.as_owner() as cursor:
            for model in self.models:
                cursor.execute(self._statement(model), {"first": first, "last": last})
            cursor.execute("SET LOCAL lock_timeout = 0")  # autovacuum may be at one of them: it gives way
            cursor.execute("ANALYZE")

    def _statement(self, model: type[Model]) -> str:
        columns = [field for field in model._meta.concrete_fields if not _is_serial(field)]
        names = ", ".join(f'"{field.column}"' for field in columns)
        values = ", ".join(self._value(model, field) for field in columns)
        table = model._meta.db_table
        rows = f"SELECT {values} FROM t_{table}, generate_series(%(first)s, %(last)s) n"
        return f"INSERT INTO {table} ({names}) {rows} ON CONFLICT DO NOTHING"  # a budget is there once

    def _value(self, model: type[Model], field: Field) -> str:
        column = f't_{model._meta.db_table}."{field.column}"'
        target = field.related_model if isinstance(field, ForeignKey) else model if field.primary_key else None
        if target in self.models and isinstance(target._meta.pk, UUIDField):
            return f"md5({column}::text || n)::uuid"
        if isinstance(field, SearchVectorField):  # the words of a row name its session
            of = f't_{model._meta.db_table}."session_id"::text'
            return f"replace({column}::text, replace({of}, '-', ''), md5({of} || n))::tsvector"
        if isinstance(field, DateTimeField):
            return f"{column} - n * interval '{HOURS} hours'"
        if IN_ORDER.get(model) == field.name:
            return f"{column} + n * 1000"
        if field.name == "pending_approvals":
            return "0"
        if field.name == "error_count":
            return f"{column} * mod(n, 2)"
        if field.name in NUMBERED and field.get_internal_type() == "TextField" and model is not LedgerEntry:
            return f"{column} || n"
        if model is LedgerEntry and field.name == "event":
            return f"{column} || ':' || n"
        return column


def _is_serial(field: Field) -> bool:
    return field.get_internal_type() in ("AutoField", "BigAutoField")
