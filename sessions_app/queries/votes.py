"""Votes on an approval, counted: who is for it, which call they are for, and what ended it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Prefetch

from sessions_app import canonical
from sessions_app.models import ApiKey, Approval, Member, Vote

PREFETCH = Prefetch("votes", Vote.objects.select_related("member", "api_key").order_by("id"))
"""What ``tally`` reads of an approval, for lists of them."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How the votes stand."""

    digest: str
    """Of the call that a decision is about now: ``Approval.digest``, or that of what an edit made of it."""
    arguments: Any
    """Of that call, where an edit made it; None: as they were asked."""
    approvals: tuple[Vote, ...]
    """Votes for that call, of distinct people, the oldest first."""
    ending: Vote | None
    """A denial or an answer: one is enough."""

    def ends(self, needed: int) -> bool:
        """Whether the approval is decided by these votes."""
        return self.ending is not None or len(self.approvals) >= needed

    @property
    def standing(self) -> tuple[Vote, ...]:
        """Votes that count: each of them can be taken back by who cast it."""
        return (*self.approvals, self.ending) if self.ending else self.approvals

    @property
    def last(self) -> Vote | None:
        """The vote that decides, where they decide."""
        return self.ending or (self.approvals[-1] if self.approvals else None)


def person_of(member: Member | None, api_key: ApiKey | None, name: str) -> str:
    """Name for one person: a member and the keys that they made are the same one, also when the member goes and is
    added again. A key that nobody made, or a row that is gone, is itself.
    """
    if member is not None:
        return f"user {member.user_id}"
    if api_key is not None:
        return f"user {api_key.made_by_id}" if api_key.made_by_id else f"key {api_key.pk}"
    return f"name {name}"


def rows_of(member_id: UUID | None, api_key_id: UUID | None) -> tuple[Member | None, ApiKey | None]:
    """The member or key that acts."""
    member = Member.objects.filter(pk=member_id).first() if member_id else None
    return member, ApiKey.objects.filter(pk=api_key_id).first() if api_key_id else None


def vote_of(counted: Tally, person: str) -> Vote | None:
    """The vote of a person (``person_of``) that counts: also what they voted by another way in."""
    return next((one for one in counted.standing if person_of(one.member, one.api_key, one.by) == person), None)


def votes_of(approval: Approval) -> list[Vote]:
    """Its votes in the order in which they were counted; no query where they were fetched with ``PREFETCH``."""
    fetched = getattr(approval, "_prefetched_objects_cache", {})
    votes = approval.votes.all() if "votes" in fetched else approval.votes.select_related("member", "api_key")
    return sorted(votes, key=lambda vote: (vote.version, vote.pk))


def tally(approval: Approval, votes: Iterable[Vote] | None = None) -> Tally:
    """Count the votes. The last one of each person counts, where it is about the call that stands.

    An edit makes another call of it, and the votes before are void for good, also when the edit is taken back.
    """
    digest, arguments = approval.digest, None
    voted: dict[str, Vote] = {}
    for vote in votes_of(approval) if votes is None else votes:
        person = person_of(vote.member, vote.api_key, vote.by)
        voted.pop(person, None)
        if vote.verdict == "approve" and vote.digest and vote.digest != digest:
            digest, arguments = vote.digest, vote.arguments
            voted.clear()
        if vote.verdict != "withdraw":
            voted[person] = vote
        elif not voted:
            digest, arguments = approval.digest, None
    endings = [vote for vote in voted.values() if vote.verdict != "approve"]
    approvals = tuple(vote for vote in voted.values() if vote.verdict == "approve")
    return Tally(digest, arguments, approvals, endings[0] if endings else None)


def call_after(approval: Approval, counted: Tally, arguments: Any) -> tuple[str, Any]:
    """Digest and changed arguments of the call that is approved with these ``arguments``; None: as it stands.

    The changed arguments are None where they are those that were asked for.
    """
    if arguments is None:
        return counted.digest, counted.arguments
    if canonical.same(arguments, approval.arguments):
        return approval.digest, None
    return approval.digest_of_call(arguments), arguments
