"""The ``ask`` of a rule, read from JSON: what a decision has to be."""

from __future__ import annotations

import re
from typing import Any

from .faults import Faults
from .members import Members, check_bool, check_choice, check_text, check_whole
from .rules import DECISIONS, RISKS, ROLES

MOST_APPROVALS = 5
MOST_SECONDS = 30 * 24 * 3600
MOST_STEPS = 10
MOST_TIMES = 20
"""Times that a step is repeated."""
LEAST_EVERY = 60
"""Seconds between two repetitions."""
TARGET = re.compile(r"role:(?:reviewer|admin)|(?:member|channel):\S{1,200}")
KNOWN = ("decisions", "eligible", "approvals", "not_initiator", "comment", "expires_in", "escalation", "risk",
         "typed_confirmation")  # fmt: skip


def read(value: Any, pointer: str, label: str, faults: Faults) -> dict[str, Any]:
    """The parameters as they were written; what is wrong with them is in ``faults``."""
    members = Members.read(value, pointer, label, KNOWN, faults)
    if members is None:
        return {}
    stated = f"words of {', '.join(DECISIONS)}"
    decisions = members.take_list("decisions", stated, check_choice(DECISIONS), empty=True)
    if decisions is not None and not {"approve", "edit", "answer"} & set(decisions):
        wanted = "approve, edit or answer must be among them, or write a rule that denies"
        faults.add(f"{pointer}/decisions", f"{label}: nothing but a denial could be decided; {wanted}")
    members.take("approvals", f"a whole number from 1 to {MOST_APPROVALS}", check_whole(1, MOST_APPROVALS))
    members.take("not_initiator", "true or false", check_bool)
    members.take("typed_confirmation", "true or false", check_bool)
    members.take_list("comment", "words of deny, approve", check_choice(("deny", "approve")), empty=True)
    members.take("expires_in", f"whole seconds, at most {MOST_SECONDS} (30 days)", check_whole(1, MOST_SECONDS))
    members.take("risk", f"one of {', '.join(RISKS)}", check_choice(RISKS))
    if "eligible" in value:
        _eligible(value["eligible"], f"{pointer}/eligible", label, faults)
    for position, step in enumerate(members.take_list("escalation", "steps", _any, MOST_STEPS, empty=True) or ()):
        _step(step, f"{pointer}/escalation/{position}", label, faults)
    return value if isinstance(value, dict) else {}


def _eligible(value: Any, pointer: str, label: str, faults: Faults) -> None:
    members = Members.read(value, pointer, label, ("roles", "members"), faults)
    if members is None:
        return
    roles = members.take_list("roles", f"words of {', '.join(ROLES)}", check_choice(ROLES), empty=True)
    people = members.take_list("members", "addresses or ids of members", check_text(320), empty=True)
    if not roles and not people and not (set(value) - {"roles", "members"}):
        faults.add(pointer, f"{label}: eligible names nobody; name roles or members")


def _step(value: Any, pointer: str, label: str, faults: Faults) -> None:
    members = Members.read(value, pointer, label, ("after", "to", "repeat"), faults)
    if members is not None:
        after = members.take("after", "whole seconds since it was asked", check_whole(1, MOST_SECONDS), needed=True)
        if "repeat" in value:
            _repeat(value["repeat"], after or 0, f"{pointer}/repeat", label, faults)
        targets = "role:admin, member:ID or channel:NAME"
        members.take("to", f"a list of {targets}", lambda one: isinstance(one, list) and bool(one), needed=True)
        members.take_list("to", targets, lambda one: isinstance(one, str) and bool(TARGET.fullmatch(one)), 20)


def _repeat(value: Any, after: int, pointer: str, label: str, faults: Faults) -> None:
    members = Members.read(value, pointer, label, ("every", "times"), faults)
    if members is None:
        return
    every = members.take("every", "whole seconds, at least 60", check_whole(LEAST_EVERY, MOST_SECONDS), needed=True)
    times = members.take("times", f"a whole number from 1 to {MOST_TIMES}", check_whole(1, MOST_TIMES), needed=True)
    if every and times and after + every * times > MOST_SECONDS:
        faults.add(pointer, f"{label}: the last repetition would be more than 30 days after it was asked")


def _any(_: Any) -> bool:
    return True
