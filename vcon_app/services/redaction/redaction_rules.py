"""The rules of a redaction: what a reviewer or a program says is to go, checked, and resolved to a selection of parts.

A rule is a small object: ``{"what": "event", "seq": 12}``, ``{"what": "reasoning"}``,
``{"what": "containing", "words": "4711"}``. See ``NEEDS``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any
from uuid import UUID

from sessions_app.models import Session
from vcon_app.formats.vcon.redacting import ATTACHMENTS, EVERY, PARTS, REASONING, WHOLE, Selection
from vcon_app.queries import redactions as queries

CONTAINING = "containing"
ONE_OF_FILE = {"attachment": "attachments", "analysis": "analysis"}
"""Rules that name one object of the imported file by its index."""
NEEDS: dict[str, tuple[str, ...]] = {
    "event": ("seq",), "text": ("seq",), "arguments": (), "result": (), REASONING: (), ATTACHMENTS: (),
    **dict.fromkeys(WHOLE, ()), **dict.fromkeys(ONE_OF_FILE, ("index",)), CONTAINING: ("words",),
}  # fmt: skip
"""What each rule has to say beside ``what``; ``arguments`` and ``result`` may name a ``seq``, or mean all of them."""
MAY = {"arguments": ("seq",), "result": ("seq",)}
SHORTEST, LONGEST = 2, 200
"""Characters of words to look for: one letter stands everywhere."""
MOST = 5_000
"""Rules of one redaction. More single events than that are one rule: all of a kind, or words."""

Rule = dict[str, Any]


class BadRule(ValueError):
    """A rule that cannot be followed; ``pointer`` leads to it in what was sent."""

    def __init__(self, pointer: str, message: str) -> None:
        super().__init__(message)
        self.pointer = pointer


def checked_rules(session: Session, rules: list[Rule]) -> list[Rule]:
    """The rules with what they need and nothing else, each once. Raises ``BadRule``."""
    if len(rules) > MOST:
        raise BadRule("/remove", f"{len(rules):,} rules are too many (at most {MOST:,}); use all of a kind, or words")
    made = [_checked_rule(rule, f"/remove/{number}") for number, rule in enumerate(rules)]
    _check_events(session, made)
    kept = {name: {one["i"] for one in found} for name, found in queries.file_items(session.source_record).items()}
    for number, rule in enumerate(made):
        name = ONE_OF_FILE.get(rule["what"])
        if name and rule["index"] not in kept[name]:
            known = ", ".join(map(str, sorted(kept[name]))) or "none"
            message = (
                f"the file of this session has no {rule['what']} {rule['index']} beside its events; it has {known}"
            )
            raise BadRule(f"/remove/{number}/index", message)
    return list({tuple(sorted(rule.items())): rule for rule in made}.values())


def _checked_rule(rule: Rule, pointer: str) -> Rule:
    what = rule.get("what")
    if what not in NEEDS:
        raise BadRule(f"{pointer}/what", f'"{str(what)[:40]}" cannot be removed; use one of {", ".join(NEEDS)}')
    given = {name for name, value in rule.items() if value is not None} - {"what"}
    for name in NEEDS[what]:
        if name not in given:
            raise BadRule(f"{pointer}/{name}", f'"{what}" needs "{name}"')
    for name in sorted(given - {*NEEDS[what], *MAY.get(what, ())}):
        raise BadRule(f"{pointer}/{name}", f'"{what}" takes no "{name[:40]}"')
    if what == CONTAINING:
        rule = {**rule, "words": rule["words"].strip()}
        if not SHORTEST <= len(rule["words"]) <= LONGEST or "\0" in rule["words"]:
            raise BadRule(f"{pointer}/words", f"give {SHORTEST} to {LONGEST} characters to look for, without NUL")
    return {"what": what} | {name: rule[name] for name in sorted(given)}


def _check_events(session: Session, rules: list[Rule]) -> None:
    for number, rule in enumerate(rules):
        if "seq" in rule and not 1 <= rule["seq"] <= session.last_seq:
            raise BadRule(
                f"/remove/{number}/seq", f"there is no event {rule['seq']}; the last one is {session.last_seq}"
            )


def selection_of(
    session_id: UUID, kind: str, rules: Iterable[Rule], last: int, only: Collection[int] | None = None
) -> Selection:
    """What the rules come to in a log up to ``last``. ``only``: searches look at these events alone."""
    parts: dict[int, set[str]] = defaultdict(set)
    every: set[str] = set()
    whole: set[str] = set()
    words: list[str] = []
    indices: dict[str, set[int]] = {name: set() for name in ONE_OF_FILE.values()}
    for rule in rules:
        what = rule["what"]
        if what == CONTAINING:
            words.append(rule["words"])
        elif "seq" in rule:
            parts[rule["seq"]].add(what)
        elif what in ONE_OF_FILE:
            indices[ONE_OF_FILE[what]].add(rule["index"])
        else:
            (every if what in EVERY else whole).add(what)
    for one in words:
        for seq, found in queries.parts_containing(session_id, one, last, only).items():
            parts[seq] |= found & {*PARTS}
    return Selection(
        type=kind,
        parts={seq: frozenset(found) for seq, found in parts.items()},
        every=frozenset(every),
        whole=frozenset(whole),
        analyses=frozenset(indices["analysis"]),
        attachments=frozenset(indices["attachments"]),
        words=tuple(words),
    )


def rules_without_events(rules: list[Rule], seqs: Collection[int]) -> list[Rule]:
    """The rules but those about single events of these numbers."""
    return [rule for rule in rules if rule.get("seq") not in seqs]
