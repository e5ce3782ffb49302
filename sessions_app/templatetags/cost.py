"""Amounts and shares of a bill."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from sessions_app.bill import words
from sessions_app.bill.bill import Line
from sessions_app.rendering import numbers

register = template.Library()
register.filter("per_mille", words.share)


@register.filter
def bill_amount(line: Line) -> SafeString:
    """The amount of a line, exact in the title; ``≥`` where a part of it has no price, — where all of it has none."""
    title = gettext("no price is known")
    if line.is_known:
        title = numbers.dollars(line.amount)
        if line.unpriced_tokens:
            more = {"amount": title, "tokens": numbers.exact(line.unpriced_tokens)}
            title = gettext("%(amount)s; %(tokens)s tokens more have no known price") % more
    partial = bool(line.unpriced_tokens or line.under_reported)
    short = numbers.money(line.amount if line.is_known else None, partial=partial)
    return format_html('<span title="{}">{}</span>', title, short)
