"""What leaves as a vCon is what core-04 allows, and what it does not allow comes back when it is read again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vcon_app.drafts import Losses
from vcon_app.formats.vcon.file import ARRAYS, put_back
from vcon_app.formats.vcon.writing.schema import MEMBERS, misfits

from ..vcon_tools import drafts, events, model, sessions, written
from .clean import GONE, spoiled
from .shape import core_faults

HASH = "sha512-" + "A" * 86
OUTSIDE: dict[str, dict[str, Any]] = {
    "a disposition of another list": {"dialog/0/type": "incomplete", "dialog/0/disposition": "ANSWERED"},
    "no disposition": {"dialog/0/type": "incomplete"},
    "a dialog of type email": {"dialog/0/type": "email"},
    "a dialog of type video": {"dialog/0": {"type": "video", "url": "https://a.example/v", "content_hash": HASH}},
    "a dialog without type": {"dialog/0/type": GONE},
    "a url without hash": {"dialog/0": {"type": "recording", "url": "https://a.example/call.wav"}},
    "a url that is none": {"dialog/0": {"type": "recording", "url": "call me", "content_hash": HASH}},
    "an encrypted analysis": {
        "analysis/-": {"type": "report", "vendor": "v", "encoding": "jwe", "body": "e30.a.b.c.d", "dialog": 0}
    },
    "an attachment without start": {"attachments/0/start": GONE},
    "an attachment without party and dialog": {"attachments/0/party": GONE, "attachments/0/dialog": GONE},
    "an attachment of nobody": {"parties": [], "dialog": [], "analysis": []},
    "a time in words": {"dialog/1/start": "at noon"},
    "a time without zone": {"dialog/1/start": "2026-04-01T08:00:09"},
    "a negative duration": {"dialog/0/duration": -30},
    "a name that is a number": {"parties/0/name": 7},
    "an address that is a text": {"parties/0/civicaddress": "3 Fern Lane"},
    "a media type that is a number": {"dialog/0/mediatype": 12345},
    "keys of a phone without the button": {
        "dialog/0/party_history": [{"party": 0, "time": "2026-04-01T08:00:00Z", "event": "keydown"}]
    },
    "an analysis without type and vendor": {"analysis/-": {"body": "calm", "encoding": "none"}},
    "a meta that is a text": {"dialog/0/meta": "note", "dialog/0/duration": "long"},
    "a link without uuid": {"amended": {"url": "https://a.example/v"}},
    "a link to something else": {"redacted": {"uuid": "v1", "type": 7, "url": "x"}},
    "an older time stamp": {"created_at": "2026-04-01 08:05:00", "updated_at": "2026-04-01"},
    "a set of recordings without any": {"dialog/0": {"type": "recording-set"}},
    "a party on a transfer": {"dialog/0": {"type": "transfer", "parties": [0], "transferor": 0}},
    "an element that is a text": {"dialog/0": "hello", "attachments/0": "there", "analysis/-": 7},
}


def out(document: dict[str, Any], losses: Losses | None = None, **options: Any) -> dict[str, Any]:
    draft, held = sessions(drafts(document))[0]
    return json.loads(written(draft, held, losses, **options))


def faults(made: dict[str, Any]) -> list[str]:
    wrong = [f"{name}: {misfits(item, name)}" for name in ARRAYS for item in made[name] if misfits(item, name)]
    return wrong + core_faults(made)


@pytest.mark.parametrize("changes", OUTSIDE.values(), ids=OUTSIDE)
def test_what_leaves_is_valid_and_comes_back_as_it_was(changes: dict[str, Any]) -> None:
    document = spoiled(changes)
    found = drafts(document)
    made = out(document)
    again = drafts(made)

    assert faults(made) == []
    assert list(map(model, events(again))) == list(map(model, events(found)))
    (one, _), (other, _) = sessions(found)[0], sessions(again)[0]
    assert (other.title, other.phase, other.started_at, other.model) == (
        one.title, one.phase, one.started_at, one.model,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "array", "member", "value"),
    [
        ({"dialog/0/type": "incomplete", "dialog/0/disposition": "ANSWERED"}, "dialog", "disposition", "ANSWERED"),
        ({"dialog/0/type": "email"}, "dialog", "type", "email"),
        ({"dialog/0": {"type": "recording", "url": "https://a.example/c"}}, "dialog", "url", "https://a.example/c"),
        ({"attachments/0/encoding": "jwe"}, "attachments", "encoding", "jwe"),
    ],
)
def test_the_value_stands_in_meta_the_report_says_so_and_reading_puts_it_back(
    changes: dict[str, Any], array: str, member: str, value: str
) -> None:
    losses = Losses()
    made = out(spoiled(changes), losses)
    item = made[array][0]

    assert item["meta"]["x-as-found"][member] == value != item.get(member)
    assert any(member in row["what"] or "encoding" in row["what"] for row in losses.rows())
    assert put_back([item])[0][member] == value


def test_faithful_writes_values_as_they_came() -> None:
    changes = {"dialog/0/type": "email", "dialog/1/start": "at noon", "attachments/0/start": GONE}
    made = out(spoiled(changes), faithful=True)

    assert made["dialog"][0]["type"] == "email"
    assert made["dialog"][1]["start"] == "at noon"
    assert "start" not in made["attachments"][0]


def test_a_body_that_readers_see_is_never_replaced_by_one_that_they_do_not() -> None:
    shown = {"type": "text", "body": "pay 1", "meta": {"x-as-found": {"body": "pay 100", "url": None}}}
    assert put_back([shown])[0]["body"] == "pay 1"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "text", "2026-04-01T08:00:00Z", "2026-04-01", "recording", "incomplete", "json", "none",
                       "base64url", "AAA=", "https://a.example/x", "text/plain", HASH]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["uuid", "local", "party"]), inner),
    max_leaves=4,
)  # fmt: skip


def item_of(array: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from([*MEMBERS[array], "body", "meta", "other"]), JSON, max_size=6)


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.fixed_dictionaries({name: st.lists(item_of(name), max_size=3) for name in ARRAYS}))
def test_any_members_of_any_kind_leave_as_a_valid_vcon(arrays: dict[str, Any]) -> None:
    assert faults(out(spoiled({}) | arrays)) == []
