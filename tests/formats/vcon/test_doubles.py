"""A name that stands twice in one object is told: of two readers one shows the first value and one the last."""

import json
import time

import pytest

from vcon_app.drafts import FormatError
from vcon_app.formats.vcon.file import duplicate_keys, tree
from vcon_app.formats.vcon.file.notes import Notes

from ..vac.tools import cbor, record
from ..vac.tools import drafts as vac_drafts
from ..vcon_tools import findings
from .clean import CLEAN, ENTRIES, b64, found_in, jws, rules_of, spoiled


@pytest.mark.parametrize(
    "text", ['{"uuid":"a","uuid":"b"', '{"uuid" :"a",\n"uuid"\t: "b"', '{"\\u0075uid":"a","uuid":"b"']
)
def test_a_name_that_stands_twice_is_told_though_the_parser_keeps_silent(text):
    rest = json.dumps({key: value for key, value in CLEAN.items() if key != "uuid"})[1:]
    found = found_in(f"{text},{rest}".encode())

    assert [(one.severity, one.path) for one in found if one.rule == "R112"] == [("error", "/uuid")]


def test_names_that_stand_twice_are_told_inside_of_string_bodies_signed_payloads_and_deep_below():
    body = json.dumps(CLEAN["analysis"][0]["body"]).replace('"id": "w3"', '"id": "w9", "id": "w3"')
    found = found_in(spoiled({"analysis/0/body": body}))
    assert [one.path for one in found] == ["/analysis/0/body/session/entries/2/id"]

    whole = json.dumps(CLEAN).replace('"litres": 2', '"litres": 1, "litres": 2')
    assert [one.path for one in found_in(jws(CLEAN) | {"payload": b64(whole.encode())})] == [
        f"/payload/{ENTRIES}/1/input/litres"
    ]


@pytest.mark.parametrize("text", ['"', '\\":', '":', ' " :', "\\\\", '{"a":1,"a":2}', '\\\\\\":' * 9])
def test_quotes_and_colons_inside_of_texts_are_no_names(text):
    document = spoiled({f"{ENTRIES}/3/content": text, "dialog/1/body": text, "x": {f"{text}\\": 1}})

    assert rules_of(document) == {"R6"}


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ('{"a":1,"b":[{"c":"d: e"}]}', True),
        ('{ "a" : 1.50,\n"b" :\t"\\u00e4" }', True),
        ('{"a":1,"a":1}', False),
        ('{"a":"::","a":1}', False),
        ('{"a":1,"a":"\\u003a"}', False),
        ('{"a":1,"b":"\\u003A\\u003a","a":2}', False),
    ],
)
def test_a_text_is_passed_as_plain_only_when_no_name_can_stand_twice(text, plain):
    assert tree.is_plain(text.encode(), json.loads(text)) is plain


def nested(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


def test_a_text_is_passed_as_plain_only_when_it_is_not_nested_too_deep():
    most, more = nested(tree.DEEPEST), nested(tree.DEEPEST + 1)

    assert (tree.is_plain(most, json.loads(most)), tree.is_plain(more, json.loads(more))) == (True, False)
    assert tree.parse_json(more, Notes()) == json.loads(more)
    with pytest.raises(FormatError, match="nests deeper than 200 levels"):
        tree.parse_json(nested(tree.DEEPEST + 2), Notes())


def test_a_value_that_cannot_be_written_again_is_looked_at_more_closely():
    huge = b'{"a": NaN, "b": 123456789012345678901234567890, "b": 1}'
    notes = Notes()

    assert tree.parse_json(huge, notes) == {"a": None, "b": 1}
    assert [one.message.split(";")[0] for one in notes.drain()] == [
        "The JSON had to be repaired: NaN read as null.",
        "The name 'b' stands more than once in this object",
    ]


def test_a_name_without_letters_that_stands_twice_is_reported():
    notes = Notes()

    assert tree.parse_json(b'{"a": {"": 1, "": 2}}', notes) == {"a": {"": 2}}
    assert [one.message.split(";")[0] for one in notes.drain()] == ["The name '' stands more than once in this object"]


def test_a_key_that_stands_twice_in_a_cbor_map_is_reported():
    pair = cbor("version") + cbor("1")
    data = cbor(record())
    assert (data[0] >> 5, data[0] & 31 < 23) == (5, True)
    doubled = bytes([data[0] + 1]) + pair + data[1:]

    assert ("R112", "error") in [(one.rule, one.severity) for one in findings(vac_drafts(doubled))]
    assert "R112" not in {one.rule for one in findings(vac_drafts(data))}


LONG = {"slashes": "\\" * 500_000 + '":', "colons": '":' * 500_000, "space": " " * 1_000_000 + ":"}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_text_made_to_look_like_names_does_not_take_long(text):
    data = json.dumps({"a": text}).encode()
    notes, start = Notes(), time.process_time()
    duplicate_keys.check_json(data, 1, notes, "")

    assert time.process_time() - start < 1
    assert list(notes.drain()) == []
