"""Runs of an agent with what each led to, in pages that cost the same however many there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from sessions_app.models import Agent, Approval, GraphNode, Session

RUNS = 20
EACH = 20
"""Decisions and evidence that are shown of one run; its own page has all."""
FEW = """
SELECT n.* FROM unnest(%s::uuid[]) AS of (id) CROSS JOIN LATERAL (
    SELECT * FROM sessions_app_graphnode g WHERE g.session_id = of.id ORDER BY g.id LIMIT %s
) n
"""


@dataclass(slots=True)
class Decided:
    """A decision with the evidence for and against it."""

    node: GraphNode
    evidence: list[GraphNode] = field(default_factory=list)


@dataclass(slots=True)
class Run:
    """A session with what it led to, and what allowed it."""

    session: Session
    policies: list[int]
    """Numbers of the workspace's rules under which its calls were asked for; empty where no call was."""
    decisions: list[Decided]
    evidence: list[GraphNode]
    """About none of these decisions."""
    more: bool

    @property
    def is_empty(self) -> bool:
        return not self.decisions and not self.evidence


def runs_of(agent: Agent, limit: int = RUNS, before: UUID | None = None) -> tuple[list[Run], UUID | None]:
    """Sessions of an agent that led to something, the last to come here first, and where the next page begins."""
    firsts = GraphNode.objects.filter(agent=agent, is_first=True)
    firsts = firsts.filter(session_id__lt=before) if before else firsts
    ids = list(firsts.order_by("agent", "-session").values_list("session_id", flat=True)[: limit + 1])
    shown = ids[:limit]
    found = Session.objects.select_related("agent").defer("source_record").in_bulk(shown)
    return traced([found[id_] for id_ in shown]), shown[-1] if len(ids) > limit else None


def traced(sessions: Sequence[Session]) -> list[Run]:
    """Each session with the first of what it led to, in a number of queries that does not grow."""
    ids = [session.pk for session in sessions]
    nodes = defaultdict(list)
    for node in GraphNode.objects.raw(FEW, [ids, EACH + 1]) if ids else ():
        nodes[node.session_id].append(node)
    policies = policies_of(ids)
    return [_run(session, policies.get(session.pk, []), nodes[session.pk]) for session in sessions]


def policies_of(ids: Sequence[UUID]) -> dict[UUID, list[int]]:
    """Numbers of the workspace's rules that were in force when calls of the sessions were asked for, by session."""
    asked = Approval.objects.filter(session__in=ids, policy_version__isnull=False, recorded=False, planted=False)
    found = defaultdict(list)
    pairs = asked.values_list("session_id", "policy_version__number").distinct()
    for session_id, number in sorted(pairs, key=lambda pair: pair[1]):
        found[session_id].append(number)
    return found


def _run(session: Session, policies: list[int], nodes: list[GraphNode]) -> Run:
    return Run(session, policies, *arranged(nodes[:EACH]), more=len(nodes) > EACH)


def arranged(nodes: Sequence[GraphNode]) -> tuple[list[Decided], list[GraphNode]]:
    """Decisions with their evidence, and evidence that is about none of them."""
    decided = {node.pk: Decided(node) for node in nodes if node.kind == GraphNode.Kind.DECISION}
    alone: list[GraphNode] = []
    for node in nodes:
        if node.kind == GraphNode.Kind.EVIDENCE:
            about = decided.get(node.about_id) if node.about_id else None
            (about.evidence if about else alone).append(node)
    return list(decided.values()), alone
