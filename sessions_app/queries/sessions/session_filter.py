"""Filter of the session list, read strictly from the URL: each bad value gets a sentence, none is ignored."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from django.http import QueryDict

from sessions_app.search import operators

from .conditions import BadFilter, assignee_id, check_choice
from .session_list import DEFAULT_SORT, SessionFilter, check_order

NAMES = (
    "agent", "ended", "status", "origin", "tag", "q", "from", "to", "min_cost", "has_errors", "needs_approval",
    "model", "tool", "used_from", "used_to", "verdict", "assignee", "finding", "import", "fold", "sort",
)  # fmt: skip
KEYWORDS = {"from": "from_", "import": "import_"}
"""Fields of ``SessionFilter`` for names that Python keeps for itself."""
WITHOUT_FIELD = ("status", "model", "tool", "used_from", "used_to", "import", "fold", "sort")
"""Filters that links set and chips take away: the form only keeps them."""
LABELS = {
    "from": "Started from", "to": "Started to", "min_cost": "Cost at least", "origin": "Source", "q": "Search",
    "ended": "State",
    "assignee": "Assigned to",
    "has_errors": "Errors", "needs_approval": "Pending approvals", "used_from": "Used from", "used_to": "Used to",
}  # fmt: skip
"""What the form calls a filter, where that is not its name in the address."""
BOOLEANS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
MOST = 1_000
"""Characters of one value."""
MOST_COST = Decimal(10) ** 9
PLACES = ("cursor", "totals", "columns", "view")
"""What stands in the address of the list beside the filter."""
ME = "me"
"""As an assignee: whoever reads the list."""


@dataclass
class ReadFilter:
    """The filter, the values as they came (for the form), and what is wrong with them by field name."""

    wanted: SessionFilter
    values: dict[str, str]
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def problems(self) -> list[tuple[str, str]]:
        """Errors by the labels that the form has for the fields."""
        return [(_label(name), told) for name, told in self.errors.items()]

    @property
    def kept(self) -> list[tuple[str, str]]:
        """Values that the form sends along in hidden fields."""
        return [(name, self.values[name]) for name in WITHOUT_FIELD if self.values[name]]

    @property
    def folds(self) -> bool:
        """Whether what comes in crowds is folded: where nothing is looked for, unless the address says ``fold=no``."""
        return not self.wanted.active and not self.values["fold"]

    def query(self, **changes: str | None) -> str:
        """The query string of this filter with some values changed; "" or None takes one away."""
        query = QueryDict(mutable=True)
        for name, value in {**self.values, **changes}.items():
            if value and (name, value) != ("sort", DEFAULT_SORT):
                query[name] = value
        return f"?{query.urlencode()}" if query else "?"


def read(query: QueryDict, reader: UUID | None = None) -> ReadFilter:
    """Read the filter. Never raises: what cannot be understood is left out of it and explained in ``errors``.

    ``reader`` is the member whom ``assignee=me`` means.
    """
    values = {name: query.get(name, "").strip() for name in NAMES}
    wanted: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for name, value in values.items():
        if not value:
            continue
        try:
            found = _read(name, value, reader)
        except BadFilter as bad:
            errors[name] = str(bad)
        else:
            wanted[KEYWORDS.get(name, name)] = found
    wanted.pop("fold", None)
    return ReadFilter(SessionFilter(**wanted), values, errors)


def _label(name: str) -> str:
    """What the form calls a filter; a name that is none of ours is quoted, for anybody can put one into an address."""
    return LABELS.get(name, name.capitalize()) if name in NAMES or name in PLACES else f'"{name[: operators.QUOTED]}"'


def unknown(query: QueryDict) -> list[str]:
    """Names in a saved query string that the list does not know, or not any more."""
    return [name for name in query if name not in NAMES and name not in PLACES]


def _read(name: str, value: str, reader: UUID | None) -> Any:
    if "\0" in value or len(value) > MOST:
        raise BadFilter(name, f"use at most {MOST:,} characters, without NUL")
    if name in ("from", "to", "used_from", "used_to"):
        return moment(name, value)
    if name == "min_cost":
        return _dollars(value)
    if name in ("has_errors", "needs_approval"):
        if value.lower() not in BOOLEANS:
            raise BadFilter(name, f'"{value[: operators.QUOTED]}" is neither true nor false')
        return BOOLEANS[value.lower()]
    if name == "import":
        return _import(value)
    if name == "sort":
        check_order(value)
    check_choice(name, value)
    if name == "fold" and value != "no":
        raise BadFilter("fold", f'"{value[: operators.QUOTED]}" folds nothing; use no, or leave it out')
    return _assignee(value, reader) if name == "assignee" else value


def _import(value: str) -> UUID:
    try:
        return UUID(value)
    except ValueError:
        raise BadFilter("import", f'"{value[: operators.QUOTED]}" is no import; use its id') from None


def _assignee(value: str, reader: UUID | None) -> str:
    if value == ME and reader:
        return str(reader)
    assignee_id(value)
    return value


def moment(name: str, value: str) -> datetime:
    """A day or a moment, UTC unless it says otherwise; "to" a day means to its end. Raises ``BadFilter``."""
    try:
        return operators.moment(value, to_end=name.endswith("to"))
    except ValueError as bad:
        raise BadFilter(name, str(bad)) from None


def _dollars(value: str) -> Decimal:
    try:
        amount = Decimal(value.removeprefix("$"))
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or not 0 <= amount < MOST_COST:
        raise BadFilter("min_cost", f'"{value[: operators.QUOTED]}" is no amount of dollars; write it as 0.50')
    return amount
