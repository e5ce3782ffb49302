"""Template sessions, to be copied: a few hundred that the product itself appends, imports, books and decides.

They are in a workspace of their own, so that what happens there today is in none of those that are measured.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from sessions_app.models import Agent, Approval, Event, FileText, Member, Role, Session, TurnUsage, Workspace
from sessions_app.services import agents, audit, sessions, workspaces
from sessions_app.services.approvals import decisions, requests
from sessions_app.services.log import events, links, search_index
from sessions_app.services.money import usage
from sessions_app.services.people import members
from vcon_app.models import Import
from vcon_app.services.documents import file_words
from vcon_app.services.imports import import_jobs

from .conversations import CHINESE, RARE, SELDOM, Shape, claude_code, conversation

AGENTS = (
    "Refund agent", "Order agent", "Returns agent", "Pricing agent", "Stock agent", "Mail agent", "Invoice agent",
    "Night shift", "Release agent", "Review agent", "Test agent", "Docs agent", "Migration agent", "Support agent",
    "Pickup agent", "Sales agent", "Fraud agent", "Translation agent", "Report agent", "Onboarding agent",
)  # fmt: skip
ORIGINS = ("import", "chat", "api", "slack", "schedule", "webhook", "otlp")
HERE = ("chat", "slack", "schedule", "webhook")
"""Origins of sessions whose turns are booked: they ran here."""
COMMON_TAG, RARE_TAG = "customer", "court-case"
TAGS = (COMMON_TAG, "urgent", "vip", "batch", "night", "spring-sale")
SMALL, MIDDLE, LARGE, GIANT, WAITING, KEPT = "small", "middle", "large", "giant", "waiting", "kept"
"""Kinds of templates: 10 to 60 events, some 500, some 5,000, some 50,000, small with an approval that waits; and those
with the rare word, which are copied once."""
LENGTHS = {MIDDLE: 500, LARGE: 5_000, GIANT: 50_000}


@dataclass(frozen=True, slots=True)
class Template:
    """A session to be copied."""

    session: UUID
    kind: str
    agent: int
    """Its place in ``AGENTS``."""
    is_imported: bool
    age: timedelta
    """Since it was created: no copy is younger, or what is in it would lie in the future."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many templates of each kind."""

    small: int = 200
    middle: int = 8
    large: int = 3
    giant: int = 1
    waiting: int = 8

    def kinds(self) -> Iterator[str]:
        for kind in (SMALL, MIDDLE, LARGE, GIANT, WAITING):
            yield from [kind] * getattr(self, kind)
        yield from [KEPT] * 3


def workspace_with_agents(slug: str) -> tuple[Workspace, list[Agent], Member]:
    """A workspace with all agents and an admin."""
    place = Workspace.objects.filter(slug=slug).first() or workspaces.create_workspace(slug)
    admin = members.add_member(place, f"admin@{slug}.example.org", "Rosa", Role.ADMIN, by=audit.COMMAND)[0]
    return place, [agents.get_or_create_agent(place.pk, agent) for agent in AGENTS], admin


def make(counts: Counts) -> list[Template]:
    """All templates, always the same but for the time of day."""
    place, bots, admin = workspace_with_agents("templates")
    return [_Maker(place, bots, admin, number, kind).make() for number, kind in enumerate(counts.kinds())]


class _Maker:
    """One template while it is made."""

    def __init__(self, place: Workspace, bots: list[Agent], admin: Member, number: int, kind: str) -> None:
        self.place, self.admin, self.number, self.kind = place, admin, number, kind
        self.dice = random.Random(f"template {number}")
        self.agent = min(int(self.dice.paretovariate(0.9)) - 1, len(AGENTS) - 1) if number >= len(AGENTS) else number
        self.bot = bots[self.agent]
        origin = self.dice.choices(ORIGINS, weights=(40, 20, 15, 8, 6, 6, 5))[0]
        self.origin = origin if kind in (SMALL, MIDDLE, KEPT) or origin == "import" and kind != WAITING else "api"

    def make(self) -> Template:
        """Append, import or book it as the product does."""
        if self.origin == "import":
            session = self._imported()
        else:
            session = self._appended()
            self._ask(session)
        search_index.index(session.pk)
        age = timezone.now() - session.created_at
        return Template(session.pk, self.kind, self.agent, self.origin == "import", age)

    def _events(self) -> Any:
        length = LENGTHS.get(self.kind) or self.dice.randint(10, 60)
        words = [RARE] if self.kind == KEPT else []
        if self.number % 41 == 7:  # 2.4 % of the small ones
            words.append(SELDOM)
        if self.number % 17 == 3:
            words.append(CHINESE)
        seconds = {SMALL: 20.0, MIDDLE: 10.0, LARGE: 4.0, GIANT: 1.0}.get(self.kind, 20.0)
        # The middle ones are spread over days: nobody sits at them the whole time.
        seconds *= 40 if self.kind == MIDDLE and self.number % 2 else 1
        start = timezone.now() - timedelta(seconds=(length + 10) * seconds)
        shape = Shape(length, words, errors=self.dice.random() < 0.5 or length > 100)
        return conversation(self.dice, shape, start, seconds)

    def _appended(self) -> Session:
        tags = [tag for tag in TAGS if self.dice.random() < 0.2] + ([RARE_TAG] if self.number % 70 == 5 else [])
        session = sessions.create(self.bot, by=audit.COMMAND, origin=self.origin, tags=tags)
        made = list(self._events())
        # As if it had been opened when its first event came.
        Session.objects.filter(pk=session.pk).update(created_at=made[0].at, started_at=made[0].at)
        events.append(session.pk, made, origin=links.sent_by(audit.Actor("api_key", "", "Shop")))
        if self.origin in HERE:
            self._book(session)
        session.refresh_from_db()
        return session

    def _book(self, session: Session) -> None:
        for turn in session.turns.order_by("index"):
            used = usage.book_turn(session.pk, turn.index, self.dice.randint(500, 60_000))
            if used:
                TurnUsage.objects.filter(pk=used.pk).update(at=turn.started_at)
        for call in Event.objects.filter(session=session, kind="tool_call").order_by("seq")[:200]:
            booked = usage.book_call(call, provider="shop", status="ok", latency_ms=self.dice.randint(5, 4_000))
            booked.at = call.at
            booked.save(update_fields=["at"])

    def _imported(self) -> Session:
        name = f"{UUID(int=self.dice.getrandbits(128), version=4)}"
        data = b"".join(claude_code(name, self._events()))
        started = import_jobs.start_import(self.place, f"{name}.jsonl", [data], by=audit.COMMAND, agent=self.bot)
        import_jobs.run(started.pk)
        started.refresh_from_db()
        assert started.status == Import.Status.DONE, started.error
        session = Session.objects.get(import_links__imported=started)
        # Now and not a while later: no copy has a file that could be looked through.
        FileText.objects.filter(session=session).update(due_at=timezone.now())
        file_words.read(session.pk)
        return session

    def _ask(self, session: Session) -> None:
        """One that waits, or up to four that were decided."""
        asked = 1 if self.kind == WAITING else self.dice.choice((0, 0, 2, 4)) if self.kind == SMALL else 0
        for number in range(asked):
            question = requests.Question(
                "issue_refund", {"order": number + 1, "amount": f"{self.dice.randint(5, 900)}.00"},
                context="The parcel never came.", risk=self.dice.choice(("", "low", "medium", "high")),
                client_id=f"ask-{number}",
            )  # fmt: skip
            approval = requests.request(session, question, by=audit.SYSTEM)
            if self.kind != WAITING and approval.status == Approval.Status.PENDING:
                self._decide(approval)

    def _decide(self, approval: Approval) -> None:
        who = audit.Actor("member", str(self.admin.pk), "Rosa")
        decider = decisions.Decider(who, Role.ADMIN, "web", member_id=self.admin.pk)
        verdict = self.dice.choices(("approve", "deny"), weights=(4, 1))[0]
        reason = "" if verdict == "approve" else "not without a photo"
        decision = decisions.Decision(verdict, approval.version, approval.digest, reason=reason, sure=True)
        decisions.decide(approval, decider, decision)
