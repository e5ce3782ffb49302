"""Filters and tags of the session page: addresses of events, times, costs, and what an approval asks for."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import template
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, ngettext

from sessions_app.changes.history import Hunk
from sessions_app.models import Approval, ModelRequest, Session, Turn
from sessions_app.queries.approvals import HIGH, standing, urgency_key
from sessions_app.queries.log.outline import Mark, Outline
from sessions_app.queries.log.timeline import SMALL, Entry, Nested
from sessions_app.rendering import code_html, marks, media, numbers, paths, text, titles, toolbody, usage_words
from sessions_app.rendering.arguments import secrets
from sessions_app.rendering.pauses import Pause
from sessions_app.rendering.toolline import ToolLine
from sessions_app.templatetags.desk import tokens
from sessions_app.views import zones
from sessions_app.views.approvals import cards
from sessions_app.views.labels import label
from sessions_app.views.session.addresses import Place, event_url
from sessions_app.views.session.strategy_words import strategy_words
from sessions_app.views.session.timeline.rows import KINDS, LABELS
from sessions_app.views.translated import translated

register = template.Library()
HEAT = (1, 3, 9, 27)
register.simple_tag(event_url, name="event_url")
register.filter(urgency_key)
register.filter(standing)
register.filter(strategy_words)


@register.filter
def first_line(value: str, limit: int = 120) -> str:
    return text.first_line(value, limit)


@register.filter
def actor_label(kind: str) -> str:
    """``User`` for ``person``: as the rows of a session call who has no name."""
    return translated(KINDS[kind]) if kind in KINDS else label(kind)


@register.filter
def kind_label(kind: str) -> str:
    """The kind of an event, as its row is called where nobody has a name: ``Reasoning``, ``User``."""
    named = LABELS | KINDS
    return translated(named[kind]) if kind in named else label(kind.replace("_", " "))


@register.filter
def folding(place: Place, turn: int) -> str:
    """The end of a link that folds a turn, or opens it where it is folded."""
    return place.with_fold(turn)


@register.filter
def clock(at: datetime | None, otherwise: str = "") -> SafeString | str:
    """``09:12:04`` with the exact time in the title."""
    if at is None:
        return otherwise
    here = zones.local(at)
    title = zones.exact_local(here, milliseconds=True)
    return format_html('<time datetime="{}" title="{}">{}</time>', at.isoformat(), title, f"{here:%H:%M:%S}")


@register.simple_tag(takes_context=True)
def when(context: template.Context, entry: Entry) -> SafeString:
    """The time of a row, which leads to its inspector. Each row has it: as a template it took a fifth of a row."""
    return format_html(
        '<a class="when" data-inspect="{seq}" href="{here}?event={seq}{kept}#e-{seq}" title="{title}">{shown}</a>',
        seq=entry.seq,
        here=context.get("here", ""),
        kept=context.get("kept", ""),
        title=gettext("Inspect event %(seq)s") % {"seq": entry.seq},
        shown=clock(entry.at) or f"#{entry.seq}",
    )


@register.filter
def may_hold_media(entry: Entry) -> bool:
    """Whether the page should ask for images, sound and files of an event."""
    by_data = media.may_hold_media(entry.light_data, entry.data_size, SMALL)
    return by_data or media.may_hold_media(entry.light_result, None, SMALL)


@register.filter
def full_value_url(seq: int, session: Session) -> str:
    """Where all of an event's long values are."""
    return reverse("event-whole", args=[session.agent_id, session.pk, seq])


@register.filter
def at_key(values: dict[Any, Any], key: Any) -> Any:
    """The value under a key, or None."""
    return values.get(key) if values else None


@register.filter
def cached(used: Any) -> str:
    """``81 %``: the part of what went in that was read from a cache."""
    parts = (used.input_tokens, used.cache_read_tokens, used.cache_write_tokens)
    return numbers.percent(used.cache_read_tokens, sum(part or 0 for part in parts))


@register.filter
def no_tokens(turn: Turn, session: Session) -> usage_words.NoTokens:
    """What stands in place of the tokens of a turn that has none."""
    is_running = session.status == Session.Status.RUNNING and turn.index == session.last_turn
    return usage_words.no_tokens_of_turn(
        turn.copied_tokens,
        is_running=bool(turn.index) and is_running,
        asks_here=turn.here and session.agent.asks_models_here,  # other turns were reported by a program
    )


@register.filter
def spent(request: ModelRequest) -> SafeString | str:
    """What one response cost: ``$0.0031``; empty when nobody knows."""
    amount = request.cost_recorded if request.cost_recorded is not None else request.cost_priced
    if amount is None:
        return ""
    if request.cost_recorded is not None:
        source = gettext("reported by the recorder")
    else:
        source = gettext("estimated with %(source)s") % {"source": request.price_source}
    return format_html(
        '<span class="num" title="{}, {}">{}</span>', numbers.dollars(amount), source, numbers.money(amount)
    )


@register.filter
def response(request: ModelRequest) -> SafeString:
    """``1.2 k out · $0.0031``: what came of one request and what it cost. In Python, as ``when``."""
    pieces = []
    if request.output_tokens is not None:
        out = went_out(tokens(request.output_tokens, request.under_reported))
        placeholder = gettext("At least: the recorder wrote down a placeholder") if request.under_reported else ""
        pieces.append(format_html('<span title="{}">{}</span>', placeholder, out) if placeholder else out)
    if request.counted_in_id:
        repeated = gettext("Repeated from another session, in which it is counted")
        pieces.append(format_html(' <span title="{}">{}</span>', repeated, gettext("(copy)")))
    elif cost := spent(request):
        pieces.append(format_html(" · {}", cost))
    if request.quality == "aggregate":
        several = gettext("Several responses together: the recorder states no others")
        pieces.append(format_html(' <span title="{}">{}</span>', several, gettext("(sum)")))
    return SafeString("".join(pieces))


@register.filter
def heat(request: ModelRequest | None, session: Session) -> str:
    """``heat-1`` to ``heat-5`` by what a response cost beside the session's average event; empty where nobody knows.

    Each step is three times the one before: under the average, up to 3, 9, 27 times, and more.
    """
    amount = request and (request.cost_priced if request.cost_recorded is None else request.cost_recorded)
    if not amount or request is None or request.counted_in_id or not session.cost_amount or session.cost_amount < 0:
        return ""
    times = amount * session.event_count / session.cost_amount
    return f"heat-{1 + sum(times >= least for least in HEAT)}"


@register.filter
def nested_cost(nested: Nested) -> str:
    return numbers.money(nested.cost, partial=nested.unpriced) if nested.cost is not None else ""


@register.simple_tag(takes_context=True)
def card_of(context: template.Context, approval: Approval) -> cards.ApprovalCard:
    """What this card shows: everything where it stands ``alone``, secrets where they were ``revealed``."""
    alone, revealed = bool(context.get("alone")), bool(context.get("revealed"))
    return cards.card_of(approval, alone=alone, revealed=revealed, member=context.get("member"))


@register.filter
def tool_line(approval: Approval) -> ToolLine:
    """What is asked, on one line."""
    return cards.line_of(approval)


@register.filter
def diff_class(mark: str) -> str:
    """The class of a row of a diff beside ``d``, with the space before it."""
    return {"+": " add", "-": " del", "@": " hunk"}.get(mark, "")


@register.filter
def diff_lines(hunk: Hunk, path: str) -> list[code_html.DiffLine]:
    """Rows of a part of a file's diff, in the colours of its language."""
    return code_html.diff_lines(hunk.rows, path)


@register.filter
def is_dangerous(risk: str) -> bool:
    """Whether a call of this risk is approved in two steps."""
    return risk in HIGH


@register.filter
def risk_in_words(approval: Approval) -> str:
    """The risk of a call, and who says so."""
    return str(translated(marks.risk_in_words(approval.risk, approval.terms)))


@register.filter
def share_left(approval: Approval) -> int:
    """Percent of the time from the question to its expiry that is left; 0 when it is over."""
    assert approval.expires_at is not None
    whole = (approval.expires_at - approval.requested_at).total_seconds()
    left = (approval.expires_at - timezone.now()).total_seconds()
    return round(100 * max(0.0, min(1.0, left / whole))) if whole > 0 else 0


@register.filter
def spent_words(mark: Mark) -> str:
    """What a turn of the outline cost: ``Cost: ≥ $0.14``."""
    cost = numbers.money(mark.spent, partial=mark.is_partial) if mark.spent is not None else numbers.UNKNOWN
    return gettext("Cost: %(cost)s") % {"cost": cost}


@register.filter
def is_to_come(at: datetime | None) -> bool:
    """Whether a time lies in the future; None does not."""
    return at is not None and at > timezone.now()


@register.filter
def masked_json(value: Any) -> str:
    """Indented JSON without its secrets."""
    return toolbody.as_json(secrets.masked(value)[0])


@register.filter
def value_html(value: str, column: str) -> SafeString:
    """A long value as it was recorded: a text as it is, JSON in colours."""
    html = text.escape(value) if column == "text" else code_html.html_of(value, "json")
    return mark_safe(html)  # noqa: S308 - every text in it is escaped there


@register.filter
def size_of(entry: Entry, column: str) -> int | None:
    """Bytes of a long value of an event."""
    return {"arguments": entry.arguments_size, "result": entry.result_size}.get(column, entry.text_size)


@register.filter
def built(html: str) -> SafeString:
    """HTML that ``rendering.arguments`` has built, every text of strangers in it escaped there."""
    return mark_safe(html)  # noqa: S308 - see above


@register.filter
def status_words(approval: Approval) -> str:
    """``approved``, ``expired, so denied``: as the badge says, also of a decision that can be taken back."""
    return str(translated(cards.mark_of(approval).words))


@register.filter
def standing_mark(approval: Approval) -> marks.Mark:
    """The badge of how it stands in a list."""
    return cards.mark_of(approval)


@register.filter
def member_name(user: Any) -> str:
    """The name of who is signed in with an account."""
    return user.get_full_name() or user.get_username()


@register.filter
def pretty(value: Any) -> str:
    """JSON as people edit it."""
    return toolbody.as_json(value)


@register.filter
def first_of(values: Any) -> Any:
    """The only value of a form's text that came back."""
    return next(iter(values), "")


@register.filter
def pairs(value: Any) -> list[toolbody.Pair]:
    """Rows of an object of the file."""
    return toolbody.facts(value) if isinstance(value, dict) else []


@register.filter
def dollars(amount: Any) -> str:
    return numbers.dollars(amount)


@register.filter
def elapsed(time: timedelta | None) -> str:
    return numbers.duration(time.total_seconds() * 1000 if time is not None else None)


@register.filter
def passed(pause: Pause) -> SafeString:
    """``6 h 12 m later``; where the reader's clock has another day: ``2 d 3 h later · Thu 5 Mar 2026``."""
    here = zones.local(pause.until)
    later = gettext("%(time)s later") % {"time": elapsed(pause.length)} if pause.length else ""
    day = date_format(here, "D j M Y", use_l10n=False) if pause.is_new_day else ""
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', pause.until.isoformat(), zones.exact_local(here),
        " · ".join(filter(None, (later, day))),
    )  # fmt: skip


@register.filter
def turn_span(turn: Turn) -> SafeString:
    """How long a turn took; ``≤`` where some of its events have times from behind the next turn; — where all have one.

    Who resumes a session writes its earlier records once more, some with the time at which it was resumed.
    """
    until, began_next = turn.ended_at, getattr(turn, "next_started_at", None)
    if turn.started_at is None or until is None:
        return _with_title(numbers.UNKNOWN, gettext("the source does not say"))
    if until == turn.started_at:
        return _with_title(numbers.UNKNOWN, gettext("all its events have the same time"))
    is_late = began_next is not None and turn.started_at <= began_next < until
    milliseconds = ((began_next if is_late else until) - turn.started_at).total_seconds() * 1000
    if is_late:
        title = gettext("until the next turn: some of its events have later times")
        return _with_title(f"≤ {numbers.duration(milliseconds)}", title)
    return _with_title(numbers.duration(milliseconds), f"{milliseconds / 1000:,.3f} s")


def _with_title(short: str, title: str) -> SafeString:
    return format_html('<span class="num" title="{}">{}</span>', title, short)


@register.filter
def path_of(session: Session, path: str) -> paths.ShownPath:
    """A path of a call, from the working directory of its session on."""
    environment = (session.metadata or {}).get("environment")
    cwd = environment.get("cwd") if isinstance(environment, dict) else ""
    return paths.shown_path(path, cwd if isinstance(cwd, str) else "")


@register.filter
def exactly(at: datetime | None) -> SafeString | str:
    """``2026-03-02 09:12:04.120 +01:00``; — when unknown."""
    return (
        format_html('<time datetime="{}">{}</time>', at.isoformat(), zones.exact(at, milliseconds=True))
        if at
        else numbers.UNKNOWN
    )


@register.simple_tag
def last_index(outline: Outline) -> int:
    return outline.marks[-1].index


@register.filter
def title_of(session: Session) -> str:
    return titles.title_of_prompt(str(session), 200)


@register.filter
def prompt_title(prompt: str, limit: int = 120) -> str:
    return titles.title_of_prompt(prompt, limit)


@register.filter
def went_in(shown: SafeString) -> SafeString:
    """``1.2 k in``: of a request, what ``tokens`` says."""
    return format_html(gettext("{tokens} in"), tokens=shown)


@register.filter
def was_written(shown: SafeString) -> SafeString:
    """``1.2 k written``: to the cache."""
    return format_html(gettext("{tokens} written"), tokens=shown)


@register.filter
def went_out(shown: SafeString) -> SafeString:
    """``1.2 k out``: of a response."""
    return format_html(gettext("{tokens} out"), tokens=shown)


@register.filter
def sent_of(context: int | None, largest: int | None) -> str:
    """How large the context of a request is, and that of the largest."""
    values = {"sent": numbers.exact(context), "most": numbers.exact(largest)}
    return gettext("%(sent)s tokens sent, %(most)s at most in this session") % values


@register.filter
def count_of_words(number: int, is_cut: Any = False) -> str:
    """``12 words``, and ``over 12 words`` of a text that goes on."""
    if is_cut:
        words = ngettext("over %(shown)s word", "over %(shown)s words", number)
    else:
        words = ngettext("%(shown)s word", "%(shown)s words", number)
    return words % {"shown": numbers.exact(number)}


@register.filter
def turn_word(number: int) -> str:
    """``turn`` or ``turns``, which stands behind the number of a narrow list."""
    return ngettext("turn", "turns", number)


@register.filter
def error_word(number: int) -> str:
    """``error`` or ``errors``, likewise."""
    return ngettext("error", "errors", number)


@register.filter
def call_word(number: int) -> str:
    """``call`` or ``calls``, likewise."""
    return ngettext("call", "calls", number)


@register.filter
def choosing(title: str) -> str:
    """What the box before a row of the list does."""
    return gettext("Choose %(title)s") % {"title": title}


@register.filter
def count_of_unread(number: int) -> str:
    """``3 unread``: events behind the last one that somebody has read."""
    return gettext("%(number)s unread") % {"number": numbers.exact(number)}


@register.filter
def finding_names(labels: list[str]) -> str:
    """What rules found in a session, with commas between."""
    return ", ".join(str(translated(name)) for name in labels)


@register.filter
def finding_words(labels: list[str]) -> str:
    """``findings: a, b`` of a session, for those who do not see the flag."""
    words = ngettext("finding: %(names)s", "findings: %(names)s", len(labels))
    return words % {"names": finding_names(labels)}


@register.filter
def apart(value: str) -> SafeString:
    """``Bash: …``, of a tool and what it said, each with its own direction: a "!" stays behind its Arabic."""
    name, colon, said = value.partition(": ")
    return format_html("<bdi>{}:</bdi> <bdi>{}</bdi>", name, said) if colon else format_html("{}", value)
