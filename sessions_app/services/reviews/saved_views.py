"""Saved views of the session list, and the columns that a member chose for it, and how wide they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db import IntegrityError, transaction
from django.http import QueryDict

from sessions_app.models import ListColumns, Member, Role, SavedView

from .. import audit
from ..log.sanitise import text
from .problems import NotAllowed, Refused, require

MOST, MOST_NAME, MOST_QUERY = 100, 60, 2_000
LEAST_WIDTH, MOST_WIDTH = 40, 1_200
PLACES = ("cursor", "totals")
"""Where somebody was in the list is no part of a view."""


@transaction.atomic
def save(member: Member, name: str, query: str, *, shared: bool, by: audit.Actor) -> SavedView:
    """Keep a query string of the list under a name; under the name of an own view in its place.

    Raises ``Refused``, and ``NotAllowed`` where a viewer would share one.
    """
    if shared:
        require(member, Role.REVIEWER)
    name = _named(name)
    kept = QueryDict(text(query).strip().removeprefix("?"), mutable=True)
    for place in PLACES:
        kept.pop(place, None)
    if len(kept.urlencode()) > MOST_QUERY:
        raise Refused("query", f"this view has more than {MOST_QUERY:,} characters; take filters away")
    mine = SavedView.objects.filter(member=member)
    before = mine.filter(name=name).first()
    if before is None and mine.count() >= MOST:
        raise Refused("name", f"you have {MOST} views already; remove one first")
    try:
        with transaction.atomic():
            view, _ = mine.update_or_create(
                workspace_id=member.workspace_id, member=member, name=name,
                defaults={"query": kept.urlencode(), "is_shared": shared, "made_by": text(by.name)},
            )  # fmt: skip
    except IntegrityError:
        raise Refused("name", f'a view "{name}" was saved at this moment; try again') from None
    if shared or (before and before.is_shared):
        audit.record(
            member.workspace_id, by, "saved_view.shared" if shared else "saved_view.unshared",
            subject=("saved_view", view.pk), name=name, query=view.query,
        )  # fmt: skip
    return view


@transaction.atomic
def rename(view: SavedView, member: Member, name: str, *, by: audit.Actor) -> SavedView:
    """Give a view another name: one's own, or as an admin a shared one.

    Raises ``NotAllowed``, and ``Refused`` where its maker has another view of that name.
    """
    _require_its_maker(view, member)
    before, view.name = view.name, _named(name)
    try:
        with transaction.atomic():
            changed = SavedView.objects.filter(pk=view.pk).update(name=view.name)
    except IntegrityError:
        theirs = "you have" if view.member_id == member.pk else f"{view.made_by} has"
        raise Refused("name", f'{theirs} a view "{view.name}" already; remove that one first') from None
    if changed and view.is_shared and view.name != before:
        audit.record(
            view.workspace_id, by, "saved_view.renamed", subject=("saved_view", view.pk), name=view.name, was=before
        )
    return view


@transaction.atomic
def remove(view: SavedView, member: Member, *, by: audit.Actor) -> None:
    """Forget a view: one's own, or as an admin a shared one. A second time changes nothing. Raises ``NotAllowed``."""
    _require_its_maker(view, member)
    if SavedView.objects.filter(pk=view.pk).delete()[0] and view.is_shared:
        audit.record(
            view.workspace_id, by, "saved_view.removed", subject=("saved_view", view.pk), name=view.name,
            query=view.query,
        )  # fmt: skip


def _named(name: str) -> str:
    name = " ".join(text(name).split())
    if not 0 < len(name) <= MOST_NAME:
        raise Refused("name", f"the name has {len(name)} characters; use 1 to {MOST_NAME}")
    return name


def _require_its_maker(view: SavedView, member: Member) -> None:
    is_admin = view.is_shared and Role(member.role).covers(Role.ADMIN)
    if view.member_id != member.pk and not is_admin:
        raise NotAllowed("this view is somebody else's; they change it, or an admin does")


def choose_columns(member: Member, names: Sequence[str], known: Sequence[str]) -> None:
    """The columns that the member sees, in this order. Raises ``Refused`` for one that is not ``known``."""
    if unknown := [name for name in names if name not in known]:
        raise Refused("columns", f'"{unknown[0][:40]}" is no column; there are {", ".join(known)}')
    ListColumns.objects.update_or_create(member=member, defaults={"names": list(dict.fromkeys(names))})


def choose_widths(member: Member, widths: Mapping[str, str], known: Sequence[str]) -> None:
    """How wide the member made columns, in CSS pixels; none: as they are by themselves. Raises ``Refused``."""
    if unknown := [name for name in widths if name not in known]:
        raise Refused("columns", f'"{unknown[0][:40]}" is no column that has a width; there are {", ".join(known)}')
    for name, width in widths.items():
        if not (width.isascii() and width.isdigit()) or not LEAST_WIDTH <= int(width[:9]) <= MOST_WIDTH:
            raise Refused(name, f'"{width[:20]}" is no width; use {LEAST_WIDTH} to {MOST_WIDTH} pixels')
    chosen = {name: int(widths[name]) for name in known if name in widths}
    ListColumns.objects.update_or_create(member=member, defaults={"widths": chosen})
