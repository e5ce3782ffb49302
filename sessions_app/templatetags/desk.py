"""Filters and tags of the pages: numbers, times and states as people read them, exact in the title."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from django import template
from django.contrib.messages.storage.base import Message
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from sessions_app.extensions import Part
from sessions_app.models import Approval, Session
from sessions_app.queries.reviews import comments
from sessions_app.queries.stops import key_of
from sessions_app.rendering import marks, numbers, text, titles
from sessions_app.rendering.stated import stated_totals
from sessions_app.views import zones
from sessions_app.views.labels import label
from sessions_app.views.script_words import words_of_scripts
from sessions_app.views.session.addresses import session_path
from sessions_app.views.translated import translated

register = template.Library()
register.filter("stops_key", key_of)
register.filter("comment_url", comments.path_of)
register.simple_tag(words_of_scripts)
register.filter("label", label)
register.filter("translated", translated)
LINE_BREAK = re.compile(r"\s*\n\s*")
TONES = {"error": "wrong", "warning": "waits", "success": "done"}
"""Of messages, by their level."""


class Unbroken(template.Node):
    """What stands in the block, as one line: see ``unbroken``."""

    def __init__(self, nodes: template.NodeList) -> None:
        self.nodes = nodes

    def render(self, context: template.Context) -> SafeString:
        return self.nodes.render(context)


@register.tag
def unbroken(parser: template.base.Parser, token: template.base.Token) -> Unbroken:
    """``{% unbroken %}`` to ``{% endunbroken %}``: line breaks of the template, with the indentation, are left out.

    For text in which a space would be seen: beside inline elements, and where CSS keeps line breaks. A space that is
    wanted is written ``{{ " " }}``. Nothing is done to values, and nothing when the page is rendered.
    """
    nodes = parser.parse(("endunbroken",))
    parser.delete_first_token()
    in_tag = False
    for node in nodes.get_nodes_by_type(template.base.TextNode):
        node.s, in_tag = _without_breaks(node.s, in_tag)
    return Unbroken(nodes)


def _without_breaks(source: str, in_tag: bool) -> tuple[str, bool]:
    """Source without its line breaks, and whether it ends inside of a tag: there a line break parts attributes."""
    pieces = []
    for piece in re.findall(r"[^<>]+|[<>]", source):
        if piece in "<>":
            in_tag = piece == "<"
        pieces.append(LINE_BREAK.sub(" " if in_tag else "", piece))
    return "".join(pieces), in_tag


class Cells(template.Node):
    """Cells of a row in the order of its columns: see ``cells``."""

    def __init__(
        self, shown: template.base.FilterExpression, usual: list[str], made: dict[str, template.NodeList]
    ) -> None:
        self.shown, self.usual, self.made = shown, usual, made

    def render(self, context: template.Context) -> SafeString:
        names = self.shown.resolve(context) or self.usual
        return SafeString("".join(self.made[name].render(context) for name in names if name in self.made))


@register.tag
def cells(parser: template.base.Parser, token: template.base.Token) -> Cells:
    """``{% cells shown agent cost %}`` to ``{% endcells %}``, with ``{% cell agent %}…{% endcell %}`` and others in
    between: the cells of the columns in ``shown``, a list of names, in its order; without one those that are named.
    """
    _tag, shown, *usual = token.split_contents()
    made: dict[str, template.NodeList] = {}
    parser.parse(("cell", "endcells"))  # only spaces stand between cells
    while (here := parser.next_token()).contents != "endcells":
        made[here.split_contents()[1]] = parser.parse(("endcell",))
        parser.delete_first_token()
        parser.parse(("cell", "endcells"))
    return Cells(parser.compile_filter(shown), usual, made)


@register.simple_tag(takes_context=True)
def part(context: template.Context, shown: Part) -> SafeString:
    """What another app shows in a slot of this page: it sees its own values, the request, and the CSRF token."""
    own = context.new(shown.context)
    own["csrf_token"] = context.get("csrf_token")
    return context.template.engine.get_template(shown.template).render(own)


@register.simple_tag
@lru_cache(maxsize=1_000)
def icon(name: str) -> SafeString:
    """One of ``static/icons.svg``; decoration only, the word stands beside it. A list of 50 rows has 60 of them."""
    return format_html(
        '<svg class="icon" width="16" height="16" aria-hidden="true"><use href="{}#{}"/></svg>',
        static("icons.svg"), name,
    )  # fmt: skip


@register.filter
def message_tone(message: Message) -> str:
    """Tone and icon of a message to the person, by its level."""
    return TONES.get(message.level_tag, "note")


@register.inclusion_tag("_nav_link.html", takes_context=True)
def nav_link(context: template.Context, url_name: str, words: str, counted: bool = False) -> dict[str, Any]:
    """A link of the top bar, marked when the page lies under it; ``counted`` adds how many approvals wait."""
    url = reverse(url_name)
    path = context["request"].path
    here = path == url or (url != "/" and path.startswith(url))
    return {"url": url, "text": words, "counted": counted, "here": here, "waiting_count": context.get("waiting_count")}


@register.filter
def up_to(number: int, most: int) -> str:
    """A number that nobody counts beyond ``most``: 99+."""
    return str(number) if number <= most else f"{most}+"


@register.filter
def one_line(value: Any) -> str:
    """Text of strangers on one line: nothing invisible, nothing that turns the order of letters round."""
    if isinstance(value, Session):
        return titles.title_of_prompt(str(value), 300)
    return text.first_line(str(value), limit=300)


@register.filter
def beside_agent(session: Session) -> str:
    """A title that stands behind the name of its agent: a session made for one call ends with that name itself."""
    return one_line(session).removesuffix(f" · {one_line(session.agent.name)}")


@register.filter
def isolated(value: str) -> str:
    """A text within another that has no element of its own: words from right to left do not turn the others round."""
    return f"\N{FIRST STRONG ISOLATE}{value}\N{POP DIRECTIONAL ISOLATE}"


@register.filter
def one_lines(values: Iterable[Any], between: str = ", ") -> str:
    """Texts of strangers on one line. Not ``join``, which escapes them: behind a filter they are escaped once more."""
    return between.join(one_line(value) for value in values)


@register.filter
def clean(value: Any) -> str:
    """Text of strangers with its lines."""
    return text.clean(str(value))


@register.filter
def tokens(number: int | None, partial: Any = False) -> SafeString:
    """``48.2 k`` with the exact number in the title."""
    return _titled(numbers.tokens(number, partial=bool(partial)), numbers.exact(number))


@register.filter
def money(costs: Any) -> SafeString:
    """The cost of anything with the columns of ``Money``: ``$0.031``, ``≥`` when a part has no price, else —."""
    tools = getattr(costs, "tool_cost", None)
    amount, unpriced = (costs.cost_amount if tools is None else costs.whole_cost), costs.unpriced_tokens
    under = getattr(costs, "under_reported", 0)
    if amount is None:
        why = _("no price is known for its model") if unpriced else _("the source states no tokens")
        return _titled(numbers.UNKNOWN, why)
    words = [_basis(costs.cost_basis, amount)]
    if unpriced:
        words.append(_("at least, because %(tokens)s tokens have no known price") % {"tokens": numbers.exact(unpriced)})
    if under:
        least = _("at least, because the recorder wrote down too few tokens of %(number)s responses")
        words.append(least % {"number": numbers.exact(under)})
    if tools:
        words.append(_("%(amount)s of it for tool calls") % {"amount": numbers.dollars(tools)})
    return _titled(numbers.money(amount, partial=bool(unpriced or under)), "; ".join(words))


def _basis(basis: str, amount: Decimal) -> str:
    words = {
        "recorded": _("%(amount)s, reported by the recorder"),
        "priced": _("%(amount)s, estimated from list prices"),
        "mixed": _("%(amount)s, partly reported by the recorder, partly estimated from list prices"),
    }[basis]
    return words % {"amount": numbers.dollars(amount)}


@register.filter
def usd(amount: Decimal | None, partial: bool = False) -> SafeString:
    """An amount of money: ``$0.031``, exact in the title; — when it is unknown. ``partial``: at least so much."""
    return _titled(numbers.money(amount, partial=partial), numbers.dollars(amount))


@register.filter
def count(number: int | None) -> str:
    """``1,204``; — when unknown."""
    return numbers.exact(number)


@register.filter
def size(number: int | None) -> SafeString:
    return _titled(numbers.size(number), _("%(number)s bytes") % {"number": numbers.exact(number)})


@register.filter
def seconds(value: float | None) -> str:
    """A duration given in seconds: ``3 m 12 s``; — when unknown."""
    return numbers.duration(None if value is None else value * 1_000)


@register.filter
def duration(milliseconds: float | None) -> str:
    return numbers.duration(milliseconds)


@register.filter
def span(timed: Any) -> SafeString:
    """How long something with ``started_at`` and ``ended_at`` took; — while either is unknown, or both are the same."""
    if timed.started_at is None or timed.ended_at is None:
        return _titled(numbers.UNKNOWN, _("the source does not say"))
    if timed.started_at == timed.ended_at:
        return _titled(numbers.UNKNOWN, _("all its events have the same time"))
    milliseconds = (timed.ended_at - timed.started_at).total_seconds() * 1000
    return _titled(numbers.duration(milliseconds), f"{milliseconds / 1000:,.3f} s")


@register.filter
def ago(at: datetime | None, ticks: str = "") -> SafeString:
    """``3 m ago``, ``in 58 m``, from a week on the date; the exact time in the title.

    With ``ticks`` a script of the page (``clock.js``) keeps it true.
    """
    if at is None:
        return _titled(numbers.UNKNOWN, _("the source does not say"))
    recent = ticks and abs((timezone.now() - at).total_seconds()) < 3_600
    return format_html(
        '<time class="relative" datetime="{}" title="{}"{}>{}</time>', at.isoformat(), zones.exact(at),
        SafeString(" data-ago") if recent else "", _relative(at),
    )  # fmt: skip


@register.filter
def until(at: datetime) -> SafeString:
    """``in 3 m 20 s``, which a script of the page counts down; ``now`` once it is over."""
    left = (at - timezone.now()).total_seconds()
    words = _("in %(time)s") % {"time": numbers.duration(left * 1000)} if left >= 1 else _("now")
    return format_html(
        '<time class="relative" datetime="{0}" data-until="{0}" title="{1}">{2}</time>', at.isoformat(),
        zones.exact(at), words,
    )  # fmt: skip


@register.filter
def moment(at: datetime) -> SafeString:
    """``2026-03-02 09:12 CET``, for a sentence; the exact time with its offset in the title."""
    return _time(at, zones.minute(at))


@register.filter
def stamp(at: datetime) -> SafeString:
    """``2026-03-02 09:12:04``, for a column whose head says ``zone_name``."""
    return _time(at, f"{zones.local(at):%Y-%m-%d %H:%M:%S}")


def _time(at: datetime, words: str) -> SafeString:
    return format_html('<time datetime="{}" title="{}">{}</time>', at.isoformat(), zones.exact(at), words)


def _relative(at: datetime) -> str:
    now = timezone.now()
    seconds = (now - at).total_seconds()
    if abs(seconds) >= 7 * 86_400:
        day = zones.local(at)
        return date_format(day, "j M" if day.year == zones.local(now).year else "j M Y", use_l10n=False)
    for size_, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if abs(seconds) >= size_:
            amount = f"{int(abs(seconds) // size_)} {unit}"
            return (_("in %(time)s") if seconds < 0 else _("%(time)s ago")) % {"time": amount}
    return _("in a moment") if seconds < 0 else _("just now")


@register.simple_tag
def state(shown: Session | Approval | marks.Mark | str) -> SafeString:
    """The badge of a session, of an approval, of a word that ``marks.STATES`` knows, or of a mark itself."""
    title = ""
    if isinstance(shown, marks.Mark):
        mark = shown
    elif isinstance(shown, Session):
        word = _session_word(shown)
        mark = marks.state_of(word)
        if word == "completed" and shown.origin == Session.Origin.IMPORT:
            title = _("Its file says so, or ends here; nobody here checked the work")
        elif word in marks.ENDINGS:
            title = translated(marks.ENDINGS[word])
    else:
        mark = marks.state_of(shown.status if isinstance(shown, Approval) else shown)
    words = capfirst(translated(mark.words))
    about = format_html(' title="{}"', title) if title else ""
    return format_html('<span class="state is-{}"{}>{}{}</span>', mark.tone, about, icon(mark.icon), words)


def _session_word(session: Session) -> str:
    """What matters most of a session: it waits, it ended badly, it runs, it is put away."""
    if session.pending_approvals:
        return "waits"
    if session.phase in (Session.Phase.CRASHED, Session.Phase.TIMED_OUT):
        return session.phase
    if session.phase == Session.Phase.CANCELLED:
        return "run_cancelled"
    if session.status == Session.Status.IDLE and session.phase == Session.Phase.COMPLETED:
        if session.ending == "broke_off" and session.was_written_just_now:
            return "no_result"
        return session.ending or "completed"
    return session.status


@register.filter
def reported(session: Session, total: str) -> int | Decimal | None:
    """What the file says a total is (turns, errors, tool_calls, tokens, cost); None where it says nothing else."""
    counted = {
        "turns": session.turn_count, "errors": session.error_count, "tool_calls": session.tool_call_count,
        "tokens": session.total_tokens, "cost": session.cost_amount,
    }  # fmt: skip
    said = stated_totals(session.metadata).get(total)
    return None if said == counted[total] or (not said and not counted[total]) else said


@register.filter
def session_url(session: Session) -> str:
    return session_path(session.agent_id, session.pk)


@register.filter
@lru_cache(maxsize=1_000)
def agent_url(slug: str) -> str:
    """The address of an agent's page. Each row of a list has it."""
    return reverse("agent-detail", args=[slug])


def _titled(short: str, exact: str) -> SafeString:
    return format_html('<span class="num" title="{}">{}</span>', exact, short)


@register.filter
def share(fraction: float | None) -> str:
    """``12 %``; a small share that is not none is ``< 1 %``."""
    if fraction is None:
        return numbers.UNKNOWN
    return "< 1 %" if 0 < fraction < 0.01 else f"{round(fraction * 100)} %"


@register.inclusion_tag("_sparkline.html")
def sparkline(days: list[int], scale: int = 0) -> dict[str, Any]:
    """A bar a day, today last, each with its number; ``scale``, or the tallest, fills the height of 20."""
    most = max(days, default=0)
    full = max(scale, most)
    heights = [max(2, round(18 * number / full)) if number else 1 for number in days]
    bars = [
        {"x": 7 * index, "y": 20 - height, "height": height, "number": number, "ago": len(days) - 1 - index}
        for index, (height, number) in enumerate(zip(heights, days, strict=True))
    ]
    return {"bars": bars, "width": 7 * len(days), "total": sum(days), "most": most}
