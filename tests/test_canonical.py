"""Digests of calls: the same for what is the same call, and another one for everything that looks like it."""

from __future__ import annotations

import unicodedata

import pytest

from sessions_app.canonical import canonical, digest, same


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"b": 1, "a": [True, None, "é"]}, '{"a":[true,null,"é"],"b":1}'),
        ([1.0, 1e0, -0.0, 1e21, 1e22, 10**22, 0.000001, 1e-7], "[1,1,0,1e+21,1e+22,1e+22,0.000001,1e-7]"),
        ([2**53 + 1, 2**53, 10**400], f"[9007199254740993,9007199254740992,{10**400}]"),
        ({"\U0001f600": 1, "\ufb33": 2}, '{"\U0001f600":1,"\ufb33":2}'),
        ("\x07\n\"\\\u202e\u200b", '"\\u0007\\n\\"\\\\\u202e\u200b"'),
        ({"__proto__": {"constructor": 1}}, '{"__proto__":{"constructor":1}}'),
    ],
)  # fmt: skip
def test_canonical_json_is_that_of_rfc_8785(value, written):
    assert canonical(value).decode() == written


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", {"\ud800": 1}])
def test_what_is_no_json_has_no_digest(value):
    with pytest.raises(ValueError):
        digest(value)


LOOK_ALIKE = [
    {"n": 1}, {"n": True}, {"n": "1"}, {"n": [1]}, {"n": None}, {}, {"n": 2**53}, {"n": 2**53 + 1},
    {"to": unicodedata.normalize("NFC", "é")}, {"to": unicodedata.normalize("NFD", "é")},
    {"to": "admin"}, {"to": "admin\u200b"}, {"to": "\u202eadmin"}, {"to": "аdmin"}, {"a": {"b": 1}}, {"a.b": 1},
]  # fmt: skip


def test_calls_that_only_look_alike_have_digests_of_their_own():
    assert len({digest(value) for value in LOOK_ALIKE}) == len(LOOK_ALIKE)
    assert not same({"n": 1}, {"n": True})


def test_order_of_keys_and_form_of_numbers_make_no_other_call():
    assert same({"a": 1, "b": {"x": 1, "y": 2}}, {"b": {"y": 2.0, "x": 1e0}, "a": 1.0})
    assert not same([1, 2], [2, 1])
