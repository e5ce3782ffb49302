"""JSON as Python and as JavaScript write it; the expectations were printed by ``JSON.stringify`` of Node.js."""

from __future__ import annotations

import json

import pytest

from vcon_app.signing import canonical


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("1.0", "1"), ("-1.50", "-1.5"), ("0", "0"), ("-0", "0"), ("-0.0", "0"), ("0.1", "0.1"), ("100", "100"),
        ("0.000001", "0.000001"), ("1e-07", "1e-7"), ("1.5e-7", "1.5e-7"), ("-1e-7", "-1e-7"), ("12.34e3", "12340"),
        ("1e20", "100000000000000000000"), ("1e21", "1e+21"), ("9007199254740993", "9007199254740992"),
        ("123456789012345678901234", "1.2345678901234569e+23"), ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("5e-324", "5e-324"), ("1e400", "null"), ("NaN", "null"), ("1.25e25", "1.25e+25"),
        ("12345678901234567890", "12345678901234567000"),
    ],
)  # fmt: skip
def test_numbers_as_javascript_writes_them(number, text):
    assert canonical.javascript(json.loads(number)).decode() == text


def test_an_integer_beyond_all_floats_is_null():
    assert canonical.javascript(10**400) == b"null"


def test_keys_that_look_like_indices_come_first_in_javascript():
    value = {"b": 1, "10": 2, "2": 3, "a": 4, "01": 5, "4294967294": 6, "4294967295": 7, "-1": 8}

    assert list(json.loads(canonical.javascript(value))) == [
        "2",
        "10",
        "4294967294",
        "b",
        "a",
        "01",
        "4294967295",
        "-1",
    ]
    assert list(json.loads(canonical.javascript(value, sort=True))) == [
        "2", "10", "4294967294", "-1", "01", "4294967295", "a", "b",
    ]  # fmt: skip


def test_sorting_is_deep_and_by_utf_16_units():
    value = {"z": {"\U0001f600": 1, "\uffff": 2}, "a": [{"b": 1, "a": 2}]}

    assert canonical.javascript(value, sort=True).decode() == '{"a":[{"a":2,"b":1}],"z":{"\U0001f600":1,"\uffff":2}}'


def test_strings_are_escaped_alike_but_for_lone_surrogates():
    text = 'a"\\/\b\f\n\r\t\x01\x7f\u2028é\U0001f35d'

    assert canonical.javascript(text) == canonical.python(text)
    assert canonical.javascript("\ud800x").decode() == '"\\ud800x"'
    with pytest.raises(UnicodeEncodeError):
        canonical.python("\ud800x")


def test_python_keeps_the_order_of_keys_unless_told_otherwise():
    value = {"b": 1.0, "a": "é", "10": None}

    assert canonical.python(value).decode() == '{"b":1.0,"a":"é","10":null}'
    assert canonical.python(value, sort=True, ascii_only=True) == b'{"10":null,"a":"\\u00e9","b":1.0}'
