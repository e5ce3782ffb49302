"""Sums over many rows, in the vocabulary of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any

from sessions_app.models.fields import Money, Tokens


@dataclass(frozen=True, slots=True)
class Sums:
    """Tokens and money; None is unknown, as on a session."""

    input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    cost_recorded: Decimal | None = None
    cost_priced: Decimal | None = None
    unpriced_tokens: int = 0
    under_reported: int = 0

    total_tokens = Tokens.total_tokens
    cost_amount = Money.cost_amount
    cost_basis = Money.cost_basis

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Sums:
        """From the row of an aggregate that names its sums as the columns are named."""
        return cls(**{f.name: row[f.name] for f in fields(cls) if row.get(f.name) is not None})
