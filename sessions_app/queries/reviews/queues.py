"""Sessions of a review queue: which there are, which are left, and which one is next for somebody."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from hashlib import md5
from uuid import UUID

from django.db.models import BigIntegerField, Count, Exists, F, Func, OuterRef, Q, QuerySet, Subquery, TextField, Value
from django.db.models.functions import Cast, Coalesce, Concat
from django.http import QueryDict
from django.utils import timezone

from sessions_app.models import Member, ReviewQueue, Session, TakenSession, Verdict
from sessions_app.models.session_order import STARTED
from sessions_app.search.operators import QUOTED

from ..sessions import session_filter
from ..sessions.conditions import BadFilter
from ..sessions.session_list import filtered
from .agreement import Agreement
from .verdicts import agreement_of

COUNTED = 2_000
"""Sessions of a queue that are counted; of more it is said that there are more."""
COMPARED = 1_000
"""Latest verdicts of a queue that agreement is measured by."""
BUCKETS = 2**32


class Bucket(Func):
    """Which of 2^32 buckets a session falls into: the first 32 bits of the MD5 of seed and id.

    Not PostgreSQL's own hash, which may change with its version: a sample is the same ever after, and anybody can
    compute it.
    """

    template = "('x' || substr(md5(%(expressions)s), 1, 8))::bit(32)::bigint"
    output_field = BigIntegerField()


def bucket_of(seed: str, session_id: UUID) -> int:
    """The same as ``Bucket`` computes."""
    return int(md5(f"{seed}{session_id}".encode(), usedforsecurity=False).hexdigest()[:8], 16)


def limit_of(queue: ReviewQueue) -> int:
    """Sessions in the buckets below belong to the queue's share."""
    return int(queue.percent * BUCKETS / 100)


def open_queues(workspace_id: UUID) -> QuerySet[ReviewQueue]:
    """Queues that are not closed, by name."""
    return ReviewQueue.objects.filter(workspace_id=workspace_id, closed_at=None).order_by("name", "id")


def asking_for(workspace_id: UUID, rules: Collection[str]) -> list[ReviewQueue]:
    """Open queues of what one of these rules of run findings found."""
    return [queue for queue in open_queues(workspace_id) if QueryDict(queue.filter).get("finding") in rules]


def sessions_in(queue: ReviewQueue) -> QuerySet[Session]:
    """All sessions of a queue, reviewed or not. Raises ``BadFilter`` for a filter that cannot be understood."""
    query = QueryDict(queue.filter)
    if unknown := session_filter.unknown(query):
        raise BadFilter(unknown[0], f'the list of sessions knows no filter "{unknown[0][:QUOTED]}"')
    read = session_filter.read(query)
    for field, told in read.errors.items():
        raise BadFilter(field, told)
    found = filtered(queue.workspace_id, read.wanted)
    if queue.percent >= 100:
        return found
    bucket = Bucket(Concat(Value(queue.seed), Cast("id", TextField()), output_field=TextField()))
    return found.annotate(bucket=bucket).filter(bucket__lt=limit_of(queue))


def left_in(queue: ReviewQueue) -> QuerySet[Session]:
    """Sessions of a queue that want more verdicts."""
    found = sessions_in(queue)
    if queue.wanted == 1:
        return found.filter(verdict="")
    given = Verdict.objects.filter(session=OuterRef("pk"), is_current=True).exclude(says="").order_by()
    counted = Subquery(given.values("session").annotate(count=Count("pk")).values("count"))
    return found.annotate(given=Coalesce(counted, 0)).filter(given__lt=queue.wanted)


def next_for(queue: ReviewQueue, member: Member) -> Session | None:
    """The oldest session left that this member has not reviewed, and that nobody else is at or is to do."""
    taken = TakenSession.objects.filter(session=OuterRef("pk"), until__gt=timezone.now()).exclude(member=member)
    left = left_in(queue).filter(Q(assignee=None) | Q(assignee=member))
    found = left.exclude(_reviewed_by(member)).exclude(Exists(taken))
    return found.order_by(STARTED, F("id")).first()


def assigned_to(member: Member) -> QuerySet[Session]:
    """What a member is to review, the oldest first: until they have said what they think, whatever others said."""
    here = Session.objects.filter(assignee=member).exclude(_reviewed_by(member)).select_related("agent")
    return here.defer("source_record").order_by(STARTED, "id")


def _reviewed_by(member: Member) -> Exists:
    mine = Verdict.objects.filter(session=OuterRef("pk"), user_id=member.user_id, is_current=True)
    return Exists(mine.exclude(says=""))


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a queue is; ``more`` says that no more than ``COUNTED`` were counted."""

    sessions: int
    left: int
    more: bool

    @property
    def done(self) -> int:
        return self.sessions - self.left


def progress_of(queue: ReviewQueue) -> Progress:
    """How many sessions a queue has and how many are left. Raises ``BadFilter``."""
    sessions = sessions_in(queue).order_by()[: COUNTED + 1].count()
    left = left_in(queue).order_by()[: COUNTED + 1].count()
    return Progress(min(sessions, COUNTED), min(left, COUNTED), sessions > COUNTED)


def agreement_in(queue: ReviewQueue) -> Agreement:
    """Agreement of those who reviewed sessions of a queue, by the latest verdicts. Raises ``BadFilter``."""
    current = Verdict.objects.filter(workspace_id=queue.workspace_id, is_current=True).exclude(says="")
    latest = current.filter(session__in=sessions_in(queue).values("pk")).order_by("-id")
    return agreement_of(latest.only("session_id", "user_id", "by", "says")[:COMPARED])
