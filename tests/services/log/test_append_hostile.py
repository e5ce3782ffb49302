"""What a transcript may hold and PostgreSQL may not: stored as near to the truth as it goes, never refused."""

from __future__ import annotations

import random
import string
from decimal import Decimal

import pytest

from sessions_app.drafts import EventDraft, ToolDraft, Usage
from sessions_app.models import ModelRequest, ToolCall
from sessions_app.queries.sessions.session_list import SessionFilter, filtered
from sessions_app.services.log.sanitise import MAX_TEXT

from ..build import answer, append, call, event, log, result, user

pytestmark = pytest.mark.django_db
GONE = "\N{REPLACEMENT CHARACTER}"


def noise(length: int) -> str:
    """Text that does not compress: an index entry of it is as long as it is."""
    return "".join(random.Random(length).choices(string.ascii_letters + string.digits, k=length))


def test_nul_becomes_the_replacement_character(session):
    append(session, event(text="a\0b", actor_name="\0", data={"k\0": ["\0"]}, pointer="/a\0", key="key\0"))
    row = log(session)[0]
    assert (row.text, row.actor_name, row.data) == (f"a{GONE}b", GONE, {f"k{GONE}": [GONE]})
    assert (row.pointer, row.client_key) == (f"/a{GONE}", f"key{GONE}")


def test_an_escaped_backslash_before_u0000_is_no_nul(session):
    append(session, event(data={"path": r"C:\u0000"}))
    assert log(session)[0].data == {"path": r"C:\u0000"}


def test_lone_surrogates_become_the_replacement_character(session):
    append(
        session, event(text="a\ud800b", tool=ToolDraft(arguments={"\udfff": "\ud83d"}), pointer="/\ud800", key="\ud800")
    )
    row = log(session)[0]
    assert (row.text, row.arguments, row.pointer) == (f"a{GONE}b", {GONE: GONE}, f"/{GONE}")


@pytest.mark.parametrize(
    "text", ["naïve — 日本語 🙂", "\u202e bidi", "\x1b[31mred\x1b[0m", "a\tb\\n\n\\.\r\n", "\\N", ""]
)
def test_every_other_text_is_kept_as_it_is(session, text):
    append(session, event(text=text, actor_name=text, data={"t": text}, tool=ToolDraft(name=text, arguments=text)))
    row = log(session)[0]
    assert (row.text, row.actor_name, row.tool_name, row.data["t"], row.arguments) == (text,) * 5


def test_integers_over_64_bits_are_kept_as_text(session):
    append(session, event(data={"small": 2**63 - 1, "big": 2**64, "negative": -(2**70), "yes": True}))
    assert log(session)[0].data == {"small": 2**63 - 1, "big": str(2**64), "negative": str(-(2**70)), "yes": True}


def test_nan_and_infinity_become_null(session):
    append(session, event(data={"nan": float("nan"), "inf": [float("inf")], "surrogate": "\ud800"}))
    assert log(session)[0].data == {"nan": None, "inf": [None], "surrogate": GONE}


def test_keys_that_are_not_text_become_text(session):
    append(session, event(data={1: "one", None: "none"}))
    assert log(session)[0].data == {"1": "one", "None": "none"}


def test_false_and_empty_values_are_not_lost(session):
    append(
        session,
        *(
            call(name="n"),
            event(tool=ToolDraft(arguments={}, result=[])),
            event(tool=ToolDraft(arguments=False, result=0)),
        ),
    )
    assert [(row.arguments, row.result) for row in log(session)[1:]] == [({}, []), (False, 0)]


def test_deep_nesting_is_kept_to_a_depth_and_said_beyond(session):
    deep: list = []
    for _ in range(3_000):
        deep = [deep]
    append(session, event(data={"deep": deep}), event(tool=ToolDraft(arguments={"deep": deep})))
    assert "nested deeper" in str(log(session)[0].data)
    assert "nested deeper" in str(log(session)[1].arguments)


def test_a_text_of_more_than_8_mb_is_cut_and_says_by_how_much(session):
    append(session, event(text="é" * (MAX_TEXT + 1_234)))
    text = log(session)[0].text
    assert text.startswith("é" * MAX_TEXT)
    assert text[MAX_TEXT:] == "\n… 1,234 more characters in the source document"


def test_a_string_of_more_than_8_mb_in_json_is_cut(session):
    append(session, event(tool=ToolDraft(result={"out": "x" * (MAX_TEXT + 10)})))
    assert log(session)[0].result["out"].endswith("\n… 10 more characters in the source document")


def test_json_too_large_for_a_column_says_so(session):
    append(session, event(data={str(i): "y" * 1_000_000 for i in range(70)}))
    assert log(session)[0].data["cut"] is True


def test_long_identifiers_still_join_and_fit_an_index(session):
    long = noise(20_000)
    append(session, call(long), result(long, "error"), answer(long, output_tokens=3), answer(long, output_tokens=5))
    only = ToolCall.objects.get(session=session)
    assert (only.result_seq, only.status) == (2, "error")
    assert len(only.call_id) < 1_000 and only.call_id.startswith(long[:100])
    assert ModelRequest.objects.get(session=session).output_tokens == 5


def test_long_names_are_kept(session):
    name = noise(50_000)
    append(session, call("c", name=name, model=name))
    assert session.tools_invoked == [name]
    for wanted, found in ((name, 1), (name + "x", 0), (name[:500], 0)):
        assert filtered(session.workspace_id, SessionFilter(tool=wanted)).count() == found
        assert filtered(session.workspace_id, SessionFilter(model=wanted)).count() == found


@pytest.mark.parametrize("count", [-1, 2**63, 10**30])
def test_impossible_token_count_is_stored_as_unknown(session, count):
    append(session, answer("r", input_tokens=count, output_tokens=7))
    assert (session.input_tokens, session.output_tokens) == (None, 7)
    assert log(session)[0].data["refused"] == {"input_tokens": str(count)}


@pytest.mark.parametrize("cost", ["-1", "1e30", "NaN", "Infinity"])
def test_impossible_cost_is_stored_as_unknown(session, cost):
    append(session, answer("r", cost=Decimal(cost), output_tokens=7))
    assert session.cost_recorded is None
    assert log(session)[0].data["refused"] == {"cost": cost if cost != "1e30" else "1E+30"}


def test_greatest_counts_still_add_up(session):
    append(session, *(answer(input_tokens=10**12, output_tokens=10**12, cost=Decimal(10_000)) for _ in range(50)))
    assert (session.total_tokens, session.cost_amount) == (100 * 10**12, 500_000)


def test_depth_beyond_reason_is_stored_as_the_deepest(session):
    append(session, user(depth=10**9))
    assert (log(session)[0].depth, session.turn_count) == (32_767, 0)


def test_an_event_of_nothing_but_a_key_is_stored(session):
    append(session, EventDraft(kind="unknown", key="", usage=Usage()))
    assert (log(session)[0].text, session.total_tokens) == ("", None)
