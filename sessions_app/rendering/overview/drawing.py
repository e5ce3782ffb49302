"""The band as SVG: a picture of at most 10 KB for a session of any length, by events or by time.

Only numbers and names of our own are written here, so what comes out is safe as it is. Colours are those of the classes
(``static/css/strip.css``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from sessions_app.phrases import Phrase, joined, ngettext
from sessions_app.phrases import gettext as _

from ..numbers import exact, money
from .buckets import Buckets
from .scale import Scale, scale_of

HEIGHT = 39
LANES = (
    ("person", 8, 3), ("agent", 15, 6), ("subagent", 19, 3), ("read", 23, 3), ("write", 27, 3), ("run", 31, 3),
    ("ask", 35, 3), ("other", 39, 3),
)  # fmt: skip
"""Name, base line and height of each lane."""
LEVELS = 3
TIME_COLUMNS = 1_000
IDLE = 600_000
"""Milliseconds without an event that may be a pause: a command or a response takes minutes."""
LANE_BYTES, NEEDLES, CUTS, SLICES = 640, 80, 30, 40
SMALL_COLUMNS, SMALL_BYTES, SMALL_NEEDLES = 120, 150, 24
TOP, FLOOR = 2, HEIGHT
FEW, SHORT = 24, 6
"""Up to so many needles go through all lanes; more of them would hide these, and are so long."""
LISTED = 5
"""Errors that the sentence names."""


class Picture(TypedDict):
    """What is drawn, ``columns`` wide, and first events of as many slices as are links without a script."""

    columns: int
    body: str
    slices: list[list[int]]
    """Column and event."""


class Facts(TypedDict):
    """What is said of a session in words, and of errors and compactions the first events."""

    events: int
    turns: int
    """0 where they are not known: a bucket of several events knows its first."""
    errors: int
    error_seqs: list[int]
    cuts: int
    cut_seqs: list[int]
    cost: str
    """Empty where no price is known."""


class Pictures(TypedDict):
    """All that is drawn of a session. ``time`` is None where no times are known."""

    events: Picture
    time: Picture | None
    small: Picture
    facts: Facts


@dataclass(frozen=True, slots=True)
class Columns:
    """What the lanes hold column by column, from the left."""

    counts: dict[str, list[int]]
    costs: list[float | None]
    """Share of all cost so far, 0 to 1."""
    first_seqs: list[int]

    def __len__(self) -> int:
        return len(self.first_seqs)


def pictures(buckets: Buckets, *, is_least: bool = False) -> Pictures:
    """Everything that is kept as drawn. ``is_least``: the cost is at least what is known of it."""
    columns, scale = by_events(buckets), time_scale(buckets)
    small = folded(columns, -(-max(1, len(columns)) // SMALL_COLUMNS))
    return {
        "events": _picture(columns), "time": _picture(by_time(buckets, scale)) if scale else None,
        "small": {"columns": len(small), "body": body(small, SMALL_BYTES, SMALL_NEEDLES), "slices": []},
        "facts": facts(buckets, is_least=is_least),
    }  # fmt: skip


def _picture(columns: Columns) -> Picture:
    return {"columns": len(columns), "body": body(columns), "slices": slices(columns)}


def time_scale(buckets: Buckets) -> Scale | None:
    """The axis of time with long pauses cut short; None where no times are known, or all are the same."""
    return scale_of(_spans(buckets), IDLE)


def _spans(buckets: Buckets) -> list[tuple[int, int]]:
    return [(a, b) for a, b in zip(buckets.began, buckets.ended, strict=True) if a is not None and b is not None]


def by_events(buckets: Buckets) -> Columns:
    """A column for each bucket."""
    return Columns(buckets.counts, _shares(buckets), [buckets.first_seq(at) for at in range(len(buckets))])


def by_time(buckets: Buckets, scale: Scale) -> Columns:
    """A thousand columns of equal time. What has no time is left out; a bucket fills the columns that it lasted."""
    counts = {name: [0] * TIME_COLUMNS for name in buckets.counts}
    costs: list[float | None] = [None] * TIME_COLUMNS
    first_seqs: list[int | None] = [None] * TIME_COLUMNS
    shares = _shares(buckets)
    for bucket, (begin, end) in enumerate(zip(buckets.began, buckets.ended, strict=True)):
        if begin is None or end is None:
            continue
        first, last = column_of(scale, begin), column_of(scale, end)
        for name, column in buckets.counts.items():
            is_moment = name in ("errors", "compactions")
            if column[bucket]:
                for at in range(first, first + 1 if is_moment else last + 1):
                    counts[name][at] += column[bucket]
        for at in range(first, last + 1):
            costs[at] = max(filter(None, (costs[at], shares[bucket])), default=shares[bucket])
            seq, here = buckets.first_seq(bucket), first_seqs[at]
            first_seqs[at] = seq if here is None else min(here, seq)
    return Columns(counts, _lasting(costs), _filled(first_seqs))


def column_of(scale: Scale, time: int) -> int:
    return min(TIME_COLUMNS - 1, int(scale.place(time) * TIME_COLUMNS))


def _lasting(costs: Sequence[float | None]) -> list[float | None]:
    """What was spent stays spent in the columns behind."""
    found: list[float | None] = []
    for cost in costs:
        before = found[-1] if found else None
        found.append(before if cost is None else cost if before is None else max(before, cost))
    return found


def _filled(seqs: Sequence[int | None]) -> list[int]:
    """Columns without an event lead to the one before them."""
    found: list[int] = []
    for seq in seqs:
        found.append(seq if seq is not None else found[-1] if found else 1)
    return found


def _shares(buckets: Buckets) -> list[float | None]:
    running = buckets.running_costs()
    whole = running[-1] if running else None
    return [None if cost is None or not whole else float(cost / whole) for cost in running]


def folded(columns: Columns, by: int) -> Columns:
    """Every ``by`` columns as one."""
    if by == 1:
        return columns
    starts = range(0, len(columns), by)
    return Columns(
        {name: [sum(column[at : at + by]) for at in starts] for name, column in columns.counts.items()},
        [columns.costs[min(at + by, len(columns)) - 1] for at in starts],
        [columns.first_seqs[at] for at in starts],
    )


def body(columns: Columns, most_bytes: int = LANE_BYTES, needles: int = NEEDLES) -> str:
    """The paths of a picture: cost behind, lanes, cuts, and errors in front."""
    paths = [_cost(columns.costs)]
    for name, base, height in LANES:
        if line := skyline(levels(columns.counts[name]), base, height // LEVELS, most_bytes):
            paths.append(f'<path class="lane-{name}" d="{line}"/>')
    for name, lane, most, short in (("cut", "compactions", CUTS, (FLOOR - SHORT, FLOOR)),
                                    ("error", "errors", needles, (0, SHORT))):  # fmt: skip
        if places := needles_at(columns.counts[lane], most):
            top, bottom = (0, FLOOR) if len(places) <= FEW else short
            line = "".join(f"M{at}.5 {top}V{bottom}" for at in places)
            paths.append(f'<path class="lane-{name}" d="{line}" vector-effect="non-scaling-stroke"/>')
    return "".join(paths)


def levels(counts: Sequence[int]) -> list[int]:
    """Heights of columns, 0 to 3, against the fullest."""
    most = max(counts, default=0)
    return [-(-LEVELS * count // most) if count else 0 for count in counts]


def skyline(heights: Sequence[int], base: int, unit: int, most_bytes: int) -> str:
    """Path around columns of these heights; so many neighbours become one, of their mean, that it is short enough.

    Empty where there is nothing.
    """
    if not any(heights):
        return ""
    by = 1
    while len(line := _skyline(heights, base, unit, by)) > most_bytes:
        by += 1
    return line


def _skyline(heights: Sequence[int], base: int, unit: int, by: int) -> str:
    parts, level, run = [f"M0 {base}"], 0, 0
    for at in range(0, len(heights), by):
        some = heights[at : at + by]
        height = -(-sum(some) // len(some))
        if height != level:
            parts.append(f"h{run}" if run else "")
            parts.append(f"v{(level - height) * unit}")
            level, run = height, 0
        run += min(by, len(heights) - at)
    parts.append(f"h{run}V{base}z" if level else "z")
    return "".join(parts)


def needles_at(counts: Sequence[int], most: int) -> list[int]:
    """Columns in which something is; of more than ``most`` those go that are too near to another."""
    places = [at for at, count in enumerate(counts) if count]
    apart, shown = 1, places
    while len(shown) > most:
        apart += 1
        shown = list({at // apart: at for at in reversed(places)}.values())[::-1]
    return shown


def _cost(costs: Sequence[float | None]) -> str:
    """Area under the cost so far, in steps of a 74th of all; nothing where no price is known."""
    parts: list[str] = []
    before = None
    for at, cost in enumerate(costs):
        y = FLOOR if cost is None else round(2 * (FLOOR - (FLOOR - TOP) * cost)) / 2
        if y != before:
            parts.append(f"M{at} {FLOOR}V{y:g}" if not parts else f"H{at}V{y:g}")
            before = y
    if len(parts) < 2 and (before is None or before == FLOOR):
        return ""
    return f'<path class="lane-cost" d="{"".join(parts)}H{len(costs)}V{FLOOR}z"/>'


def slices(columns: Columns) -> list[list[int]]:
    """At most 40 stretches of the picture: where each begins, and its first event."""
    step = -(-max(1, len(columns)) // SLICES)
    return [[at, columns.first_seqs[at]] for at in range(0, len(columns), step)]


def facts(buckets: Buckets, *, is_least: bool = False) -> Facts:
    """What the sentence about a run says."""
    cost = buckets.running_costs()[-1] if len(buckets) else None
    return {
        "events": buckets.seq,
        "turns": len({turn for turn in buckets.turns if turn}) if buckets.step == 1 else 0,
        "errors": sum(buckets.counts["errors"]), "error_seqs": [mark.seq for mark in buckets.errors[:LISTED]],
        "cuts": sum(buckets.counts["compactions"]), "cut_seqs": buckets.compactions[:LISTED],
        "cost": "" if cost is None else money(cost, partial=is_least),
    }  # fmt: skip


def summary(said: Facts) -> Phrase:
    """What the picture shows, in a sentence or three."""
    events, turns, errors, cuts = said["events"], said["turns"], said["errors"], said["cuts"]
    counted = ngettext("%(n)s event", "%(n)s events", events, n=exact(events))
    if turns:
        of_turns = ngettext("%(n)s turn", "%(n)s turns", turns, n=exact(turns))
        parts = [_("%(events)s in %(turns)s.", events=counted, turns=of_turns)]
    else:
        parts = [_("%(events)s.", events=counted)]
    if errors:
        of_errors = ngettext("%(n)s error", "%(n)s errors", errors, n=exact(errors))
        parts.append(_listed(of_errors, errors, said["error_seqs"]))
    else:
        parts.append(_("No errors."))
    if cuts:
        of_cuts = ngettext("%(n)s compaction", "%(n)s compactions", cuts, n=exact(cuts))
        parts.append(_listed(of_cuts, cuts, said["cut_seqs"]))
    if said["cost"]:
        parts.append(_("Cost %(cost)s.", cost=said["cost"]))
    return joined(" ", parts)


def _listed(counted: Phrase, number: int, seqs: Sequence[int]) -> Phrase:
    """``2 errors, at events 12 and 40.``"""
    shown = [str(seq) for seq in seqs]
    if not shown:
        return _("%(counted)s.", counted=counted)
    if number == 1:
        return _("%(counted)s, at event %(seq)s.", counted=counted, seq=shown[0])
    if rest := number - len(shown):
        first = ", ".join(shown)
        return _("%(counted)s, at events %(seqs)s and %(n)s more.", counted=counted, seqs=first, n=exact(rest))
    first, last = ", ".join(shown[:-1]), shown[-1]
    return _("%(counted)s, at events %(seqs)s and %(last)s.", counted=counted, seqs=first, last=last)
