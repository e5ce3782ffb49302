"""Filter of the usage page, read strictly from the URL: each bad value gets a sentence, none is ignored."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from sessions_app.models import Session
from sessions_app.queries.money.budgets import midnight
from sessions_app.queries.money.days import month_after
from sessions_app.queries.sessions import session_filter
from sessions_app.queries.sessions.conditions import BadFilter
from sessions_app.search.operators import QUOTED

GROUPS = {"day": _("Day"), "agent": _("Agent"), "model": _("Model"), "tool": _("Tool"), "session": _("Session")}
PICTURES = {
    "cost": _("Cost"), "tokens": _("Tokens"), "savings": _("Cache savings"), "calls": _("Tool calls"),
    "errors": _("Errors"), "latency": _("Latency"), "runtime": _("Runtime"), "accepted": _("Cost per accepted session"),
}  # fmt: skip
"""What can be drawn by day, and what it is called."""
NAMES = ("by", "picture", "from", "to", "agent", "origin", "tag", "all")
DAYS = 30
EVER = "ever"
"""``?from=ever``: no beginning."""


@dataclass
class Asked:
    """Values of the URL, and what is wrong with them by field name."""

    values: dict[str, str]
    since: datetime | None = None
    until: datetime | None = None
    errors: dict[str, str] = field(default_factory=dict)
    numbers_only: bool = False
    """Nothing leads to sessions, which the reader does not see."""

    @property
    def groups(self) -> dict[str, Any]:
        """What there is to group by, and what it is called. Sessions have titles."""
        return {name: words for name, words in GROUPS.items() if name != "session" or not self.numbers_only}

    @property
    def by(self) -> str:
        return self.values["by"]

    @property
    def first_day(self) -> str:
        """The beginning as it stands in a URL; "" for none."""
        if self.values["from"]:
            return "" if self.values["from"] == EVER else self.values["from"]
        return f"{self.since.date()}" if self.since else ""

    def query(self, **changes: str) -> str:
        """The query string of this table with some values changed; "" takes one away."""
        query = QueryDict(mutable=True)
        for name, value in (self.values | {"all": ""} | changes).items():
            if value and (name, value) not in (("by", "day"), ("picture", "cost")):
                query[name] = value
        return f"?{query.urlencode()}" if query else "?"

    def month_url(self, month: date) -> str:
        """This page of one month, as far as it is in the period; ``month`` is its first day."""
        end = month_after(month)
        since = self.values["from"] if self.since and self.since.date() > month else f"{month}"
        until = self.values["to"] if self.until and self.until.date() < end else f"{end - timedelta(days=1)}"
        return f"{reverse('usage')}{self.query(**{'from': since, 'to': until})}"

    def sessions_query(self, **narrowed: str) -> QueryDict:
        """The filter of the list of the sessions that the numbers are of."""
        query = QueryDict(mutable=True)
        same = {name: self.values[name] for name in ("agent", "origin", "tag")}
        period = {"used_from": self.first_day, "used_to": self.values["to"]}
        query.update({name: value for name, value in (same | period | narrowed).items() if value})
        return query

    def sessions_url(self, **narrowed: str) -> str:
        """The list of the sessions that the numbers are of; empty for who does not see it."""
        if self.numbers_only:
            return ""
        return f"{reverse('session-list')}?{self.sessions_query(**narrowed).urlencode()}"


def read(query: QueryDict, *, numbers_only: bool = False) -> Asked:
    """Read the filter. Never raises: what cannot be understood is explained in ``errors``."""
    asked = Asked({name: query.get(name, "").strip() for name in NAMES}, numbers_only=numbers_only)
    asked.values["by"] = asked.by or "day"
    asked.values["picture"] = asked.values["picture"] or "cost"
    for name, value in asked.values.items():
        try:
            _check(asked, name, value)
        except BadFilter as bad:
            asked.errors[name] = str(bad)
    if not asked.errors:
        asked.since, asked.until = _period(asked.values["from"], asked.values["to"])
        if asked.since and asked.until and asked.since >= asked.until:
            asked.errors["to"] = gettext('"%(to)s" is before the beginning; give a later day') % {
                "to": asked.values["to"]
            }
    return asked


def _check(asked: Asked, name: str, value: str) -> None:
    if "\0" in value or len(value) > session_filter.MOST:
        raise BadFilter(
            name, gettext("use at most %(most)s characters, without NUL") % {"most": f"{session_filter.MOST:,}"}
        )
    if name == "by" and value not in asked.groups:
        raise BadFilter(
            name,
            gettext('"%(value)s" is no grouping; use one of %(groups)s')
            % {"value": value[:QUOTED], "groups": ", ".join(asked.groups)},
        )
    if name == "picture" and value not in PICTURES:
        raise BadFilter(
            name,
            gettext('"%(value)s" is no chart; use one of %(pictures)s')
            % {"value": value[:QUOTED], "pictures": ", ".join(PICTURES)},
        )
    if name == "origin" and value and value not in Session.Origin.values:
        raise BadFilter(
            name,
            gettext('"%(value)s" is no origin; use one of %(values)s')
            % {"value": value[:QUOTED], "values": ", ".join(Session.Origin.values)},
        )
    if name in ("from", "to") and value not in ("", EVER):
        session_filter.moment(name, value)


def _period(since: str, until: str) -> tuple[datetime | None, datetime | None]:
    """Without a beginning, the 30 days up to the end; without an end, today with the rest of it."""
    end = session_filter.moment("to", until) if until and until != EVER else None
    if since == EVER:
        return None, end
    if since:
        return session_filter.moment("from", since), end
    day = (end or midnight() + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return day - timedelta(days=DAYS) if day.year > 1 else None, end
