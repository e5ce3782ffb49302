"""Whatever stands in a file: a state or a clean refusal, and ``valid`` only over what was signed."""

from __future__ import annotations

import copy
import io
import json
import random
from typing import Any

import pytest

from vcon_app.drafts import FormatError
from vcon_app.formats import llmfeed, vcon
from vcon_app.signing.keys import anchor_of

from .make import AT, VCON, ed_key, feed, owner, public_pem, recorder, root, rsa_key, signed

ROUNDS = 400
STRANGE = (None, 5, -1, "", [], {}, "AAAA", "\ud800", True, [[]], [None], 10**30, "none", ["all"], "é", {"a": 1})
NAMES = ("crit", "x5u", "x5c", "alg", "header", "protected", "signed_blocks", "payload", "value")
TOP = root()
MIDDLE = owner("Middle", rsa_key(2), TOP, ca=True)
SEEDS = [
    (vcon, signed(VCON, recorder(MIDDLE), chain=[MIDDLE, TOP])),
    (vcon, signed(signed(VCON, recorder(TOP)), recorder(TOP))),
    (llmfeed, feed(ed_key())),
]
ANCHORS = [TOP.anchor, anchor_of(public_pem(ed_key()), "Desk")]


def mutated(document: Any, chance: random.Random) -> Any:
    """The document with something at a random place removed, added, exchanged or changed by a letter."""
    document = copy.deepcopy(document)
    node = document
    while True:
        place = chance.choice(list(node) if isinstance(node, dict) else range(len(node)))
        child = node[place]
        if not (isinstance(child, (dict, list)) and child) or chance.random() < 0.2:
            break
        node = child
    if isinstance(node, dict) and chance.random() < 0.2:
        node[chance.choice(NAMES)] = chance.choice(STRANGE)
    elif isinstance(child, str) and child and chance.random() < 0.6:
        at = chance.randrange(len(child))
        node[place] = child[:at] + chance.choice("AB!=-_/+ \n\0") + child[at + chance.randint(0, 2) :]
    else:
        node[place] = chance.choice(STRANGE)
    return document


@pytest.mark.parametrize("seed", range(3))
def test_a_mutated_file_is_valid_only_where_nothing_signed_was_changed(seed):
    chance, seen = random.Random(seed), set()
    for _ in range(ROUNDS):
        format, original = chance.choice(SEEDS)
        document = mutated(original, chance)
        try:
            found, findings = format.verify(io.BytesIO(json.dumps(document).encode()), ANCHORS, AT)
        except FormatError:
            continue
        seen.add(found.state)
        assert all(finding.message for finding in findings)
        if found.state.startswith("valid"):
            covered = original.keys() - {"signature", *found.uncovered} if format is llmfeed else {"payload"}
            assert {name: document[name] for name in covered} == {name: original[name] for name in covered}
    assert {"valid", "invalid", "uncheckable"} <= seen
