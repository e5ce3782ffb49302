"""Tokens, money, times and sizes as people read them. What is not known is a dash, never 0."""

from __future__ import annotations

from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal

UNKNOWN = "—"
AT_LEAST = "≥ "
MINUS = "−"
CENT = Decimal("0.01")


def exact(number: int | None) -> str:
    """``48,213``: what stands in the title of a short number."""
    return UNKNOWN if number is None else f"{number:,}"


def tokens(number: int | None, *, partial: bool = False) -> str:
    """``812``, ``48.2 k``, ``212 k``, ``1.2 M``, ``2.1 B``; with ``≥`` in front when some are not known."""
    if number is None:
        return UNKNOWN
    return f"{AT_LEAST if partial else ''}{_short(number)}"


def money(amount: Decimal | str | None, *, partial: bool = False) -> str:
    """US dollars: to the cent from $1 on, to two significant digits below.

    ``partial`` says that some part has no price: "≥" in front, and rounded down so that it stays true; where the rest
    costs nothing, nothing is known.
    """
    if amount is None or (partial and not Decimal(amount)):
        return UNKNOWN
    value = Decimal(amount)
    sign = MINUS if value < 0 else ""
    rounded = _rounded(abs(value), ROUND_DOWN if partial else ROUND_HALF_UP)
    return f"{AT_LEAST if partial else ''}{sign}${rounded:,f}"


def dollars(amount: Decimal | str | None) -> str:
    """The amount in full, for a title: ``$0.012345``."""
    if amount is None:
        return UNKNOWN
    return f"{MINUS if Decimal(amount) < 0 else ''}${abs(Decimal(amount)):,f}"


def duration(milliseconds: float | int | None) -> str:
    """``80 ms``, ``0.8 s``, ``24 s``, ``3 m 12 s``, ``1 h 4 m``, ``2 d 3 h``."""
    if milliseconds is None:
        return UNKNOWN
    if milliseconds < 100:
        return f"{round(milliseconds)} ms"
    if milliseconds < 9_950:
        return f"{milliseconds / 1000:.1f} s"
    seconds = round(milliseconds / 1000)
    for size, unit, smaller, smaller_unit in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "m"), (60, "m", 1, "s")):
        if seconds >= size:
            rest = seconds % size // smaller
            return f"{seconds // size} {unit} {rest} {smaller_unit}" if rest else f"{seconds // size} {unit}"
    return f"{seconds} s"


def percent(part: int | None, whole: int | None) -> str:
    """``81 %`` of a whole that is known and not 0."""
    return UNKNOWN if part is None or not whole else f"{round(100 * part / whole)} %"


def size(number: int | None) -> str:
    """Bytes: ``812 B``, ``48.2 kB``, ``1.2 MB``."""
    if number is None:
        return UNKNOWN
    short = _short(number, "G")
    return f"{short}B" if " " in short else f"{short} B"


def _short(number: int, billion: str = "B") -> str:
    for unit, one in ((billion, 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= one * Decimal("0.9995"):
            value = Decimal(number) / one
            return f"{value:.0f} {unit}" if value >= Decimal("99.95") else f"{value:.1f} {unit}"
    return str(number)


def _rounded(amount: Decimal, rounding: str) -> Decimal:
    if amount == 0:
        return CENT * 0
    if amount < 1:
        step = Decimal(1).scaleb(amount.adjusted() - 1)
        amount = amount.quantize(step, rounding)
    return amount if amount < 1 else amount.quantize(CENT, rounding)
