"""Money in arguments: an amount and its currency as one sum, with what was written beside it."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any

SYMBOLS = {"EUR": "€", "USD": "$", "GBP": "£", "JPY": "¥", "INR": "₹", "CHF": "CHF ", "KRW": "₩"}
NO_CENTS = frozenset({"JPY", "KRW", "VND", "CLP", "ISK", "HUF"})
"""Currencies that are written without a fraction (ISO 4217)."""
_CURRENCY = re.compile(r"^(?:currency(?:_code)?|currencyCode|通貨)$")
_AMOUNT = re.compile(
    r"(?:^|_)(?:amount|total|price|sum|cost|fee|value|subtotal|金額)(?:_(cents|minor))?$", re.IGNORECASE
)


def currency_in(arguments: dict[str, Any]) -> str:
    """The currency that an object names, in capitals; empty where it names none (ISO 4217: three letters)."""
    for key, value in arguments.items():
        if _CURRENCY.match(key) and isinstance(value, str) and re.fullmatch(r"[A-Za-z]{3}", value):
            return value.upper()
    return ""


def sum_of(key: str, value: Any, currency: str) -> str:
    """``€100,200.00`` for an amount of money; empty for everything else.

    A whole number may count cents (Stripe does), so it says so where the key does not tell.
    """
    named = _AMOUNT.search(key)
    if not named or not currency or isinstance(value, bool):
        return ""
    amount = _decimal(value)
    if amount is None:
        return ""
    if named[1] and currency not in NO_CENTS:
        return _written(amount / 100, currency)
    is_whole = isinstance(value, int) and currency not in NO_CENTS
    return _written(amount, currency) + (
        f", or {_written(amount / 100, currency)} if it counts cents" if is_whole else ""
    )


def stated(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The first sum among arguments (``€420.00``, or nothing), and what is left to say beside it.

    A whole number stays, as it may count cents: the sum alone would hide that.
    """
    currency = currency_in(arguments)
    for key, value in arguments.items():
        said, _, is_unsure = sum_of(key, value, currency).partition(", or")
        if said:
            left = {name: one for name, one in arguments.items() if name != key and not _CURRENCY.match(name)}
            return said, arguments if is_unsure else left
    return "", arguments


def _decimal(value: Any) -> Decimal | None:
    if not isinstance(value, str | int | float):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and abs(amount) < 10**15 else None


def _written(amount: Decimal, currency: str) -> str:
    places = 0 if currency in NO_CENTS and amount == amount.to_integral() else max(2, -int(amount.as_tuple().exponent))
    sign = "−" if amount < 0 else ""
    symbol = SYMBOLS.get(currency, f"{currency} ")
    return f"{sign}{symbol}{abs(amount):,.{places}f}"
