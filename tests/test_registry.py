"""Which format a file is in: by content, by exactly one, and in words when it is none."""

from __future__ import annotations

import gzip
import io
import json
import logging
import random
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vcon_app import registry
from vcon_app.drafts import FormatError
from vcon_app.formats.common.head import SIZES, Head
from vcon_app.formats.contract import Spec

FEED = b'{"feed_type": "session", "context": {"user_input": "hi"}}'


def unrecognised(data: bytes) -> str:
    with pytest.raises(registry.Unrecognised) as refused:
        registry.detect(io.BytesIO(data))
    return str(refused.value)


def make(name: str, **more: Any) -> SimpleNamespace:
    return SimpleNamespace(SPEC=Spec(name=name, title=name), __name__=f"somewhere.{name}", **more)


def point(value: str, name: str = "other") -> EntryPoint:
    return EntryPoint(name=name, value=value, group=registry.GROUP)


def test_formats_are_found_without_a_list_of_them() -> None:
    assert {"llmfeed", "jsonl", "html"} <= registry.all_formats().keys()
    assert "llmfeed" in registry.readers()
    assert "jsonl" not in registry.readers()
    assert {"llmfeed", "jsonl", "html"} <= registry.writers().keys()


def test_every_format_has_what_its_kind_needs() -> None:
    for name, format in registry.all_formats().items():
        assert name == format.SPEC.name
        assert format.SPEC.title
    for format in registry.readers().values():
        assert callable(format.detect)
        assert format.SPEC.grows in ("lines", "document")
    for format in registry.writers().values():
        assert "/" in format.SPEC.media_type
        assert format.SPEC.suffix.startswith(".")


def test_the_names_are_closed_after_loading() -> None:
    with pytest.raises(TypeError):
        registry.all_formats()["mine"] = make("mine")  # type: ignore[index]


def test_unknown_format_name_is_refused_with_the_known_names() -> None:
    with pytest.raises(registry.UnknownFormat, match="no format 'word'.*llmfeed"):
        registry.get("word")
    assert registry.get("llmfeed").SPEC.name == "llmfeed"


def test_two_formats_of_one_name_are_an_error_that_names_both() -> None:
    first, second = make("same"), make("same")
    second.__name__ = "elsewhere.same"
    with pytest.raises(registry.DuplicateFormat, match="somewhere.same and elsewhere.same"):
        registry.collect([first, second])


def test_a_broken_format_of_another_package_is_logged_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    broken = [point("no_such_package_of_ours"), point("json:no_such_name"), point("json", "not-a-format")]
    with caplog.at_level(logging.WARNING):
        assert list(registry._third_party(broken)) == []
    assert len(caplog.records) == 3
    assert all("left out" in record.message for record in caplog.records)


def test_a_format_of_another_package_is_taken_in() -> None:
    (format,) = registry._third_party([point("vcon_app.formats.jsonl")])
    assert format.SPEC.name == "jsonl"


def test_a_file_is_recognised_whatever_it_is_called(tmp_path: Path) -> None:
    path = tmp_path / "holiday.png"
    path.write_bytes(FEED)
    name, head = registry.detect(path)
    assert name == "llmfeed"
    assert head.data == FEED


def test_a_gzipped_file_is_recognised_by_what_is_in_it() -> None:
    assert registry.detect(io.BytesIO(gzip.compress(FEED)))[0] == "llmfeed"


def test_the_stream_is_left_at_its_start() -> None:
    stream = io.BytesIO(FEED)
    stream.read(10)
    registry.detect(stream)
    assert stream.tell() == 0
    with pytest.raises(registry.Unrecognised):
        registry.detect(other := io.BytesIO(b"hello"))
    assert other.tell() == 0


@pytest.mark.parametrize("size", [0, SIZES[0], SIZES[1]])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_telling_key_far_behind_is_still_found(size: int, pack: Any) -> None:
    data = b'{"padding": "' + b"x" * size + b'", "feed_type": "session"}'
    assert registry.detect(io.BytesIO(pack(data)))[0] == "llmfeed"


def test_several_claims_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    twins = {"a": make("a", read=None, detect=bool), "b": make("b", read=None, detect=bool)}
    monkeypatch.setattr(registry, "all_formats", lambda: twins)
    with pytest.raises(registry.Ambiguous, match="a or b") as refused:
        registry.detect(io.BytesIO(FEED))
    assert refused.value.names == ["a", "b"]


def test_a_format_that_fails_on_a_file_does_not_claim_it(caplog: pytest.LogCaptureFixture) -> None:
    def fail(head: Head) -> bool:
        raise ZeroDivisionError

    assert registry.claims(Head(FEED), {"bad": make("bad", detect=fail), "good": make("good", detect=bool)}) == ["good"]
    assert "bad failed" in caplog.text


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "it is empty"),
        (b" \n\t\n", "it is blank"),
        (b"SQLite format 3\0" + b"\x10" * 100, "a SQLite database: export the sessions from the tool"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 20, "a PNG image"),
        (b"%PDF-1.7 ...", "a PDF document"),
        (b"\0" * 300, "a binary file of a kind not known here (it starts with the bytes 00 00"),
        (gzip.compress(b'{"a": 1}', mtime=0), "a gzip file of something that is JSON with the key a"),
        (b"\x1f\x8b\x08nonsense", "starts like a gzip file, but cannot be unpacked"),
        (b'{"alpha": 1, "beta": [2]}', "JSON with the keys alpha, beta"),
        (b"{}", "JSON with no keys"),
        (b'[{"gamma": 1}]', "a JSON list whose first object has the key gamma"),
        (b"[]", "an empty list"),
        (b"[1]", "a JSON list, but not of objects"),
        (b'"text"', "JSON, but only a string"),
        (b'{"one": 1, "two": 2}\n{"one": 3}\n', "JSON Lines whose first object has the keys one, two"),
        (b'{"a": 1,\n "b": [1,]}', "not JSON: a trailing comma before the closing ] at line 2, column 10"),
        (b'{"a": 1 // why\n}', "a comment, which JSON does not have, at line 1, column 9"),
        (b'{"a": 1', "the file ends in the middle of a value at line 1, column 8"),
        (b"{a: 1}", "at line 1, column 2"),
        (b'{"a": "\xe9"}', "not UTF-8: byte 0xe9 at offset 7"),
        (b'{"a": NaN}', "not quite JSON: NaN read as null"),
        (b"Dear reader,\nhello", "text, not JSON (it starts with “Dear reader, hello”)"),
        (b'{"a": "\x1b"}', "not JSON: Invalid control character at line 1, column 8"),
        (b'{"a.json": 1, "b.json": 2}', "JSON with the keys a, b"),
        (b"-----BEGIN CERTIFICATE-----\nMIIB", "a certificate: to check signatures with it, add it to the"),
        (b"-----BEGIN PRIVATE KEY-----\nMIIB", "a key or a certificate (PEM)."),
        (b"<!doctype html><p>hi", "HTML or XML"),
    ],
)  # fmt: skip
def test_a_file_of_no_known_kind_is_described(data: bytes, says: str) -> None:
    message = unrecognised(data)
    assert says in message
    assert "Known are" in message
    assert "llmfeed" in message


def test_hidden_characters_of_a_file_do_not_reach_the_message() -> None:
    message = unrecognised(json.dumps({"a\u202e\0\x1b[31m": 1}, ensure_ascii=False).encode().replace(b"\0", b""))
    assert message.isprintable()


def hostile() -> Iterator[tuple[str, bytes]]:
    noise = random.Random(7)
    yield "noise", noise.randbytes(5_000)
    yield "lists", b"[" * 3_000_000
    yield "objects", b'{"a":' * 500_000
    yield "digits", b'{"a":' + b"9" * 6_000 + b"}"
    yield "many digits", b"[" + b"9" * 300_000
    yield "exponent", b'{"a": 1e999999999}'
    yield "surrogate", b'{"\\ud800": "\\udfff"}'
    yield "quotes", b'"' * 100_000
    yield "half", FEED[5:]
    yield "bomb", gzip.compress(b"\0" * 40_000_000, mtime=0)
    yield "nested gzip", gzip.compress(gzip.compress(FEED))
    yield "long line", b'{"a": "' + b"x" * 17_000_000
    yield "controls", bytes(range(256)) * 50
    yield "boms", b"\xef\xbb\xbf" * 50
    for cut in (1, 2, 3, 11):
        yield f"gzip cut at {cut}", gzip.compress(FEED)[:cut]


@pytest.mark.parametrize(("name", "data"), list(hostile()), ids=lambda value: value if isinstance(value, str) else "")
def test_no_bytes_raise_anything_but_a_format_error(name: str, data: bytes) -> None:
    try:
        assert registry.detect(io.BytesIO(data))
    except FormatError as refused:
        assert len(str(refused).partition(registry.KNOWN)[0]) < 300  # what it says of the file, before all names
        assert str(refused).isprintable()


def test_random_damage_to_a_feed_never_raises_anything_else() -> None:
    noise = random.Random(11)
    for _ in range(200):
        data = bytearray(FEED)
        for _ in range(noise.randint(1, 6)):
            data[noise.randrange(len(data))] = noise.randrange(256)
        try:
            name, _ = registry.detect(io.BytesIO(bytes(data)))
            assert name in registry.readers()
        except FormatError as refused:
            assert str(refused)
