"""Files that are no llmfeed session: one message each, with the place and the reason."""

from __future__ import annotations

import gzip
import io
import json

import pytest

from vcon_app.drafts import EventDraft, FormatError, SessionDraft
from vcon_app.formats import llmfeed
from vcon_app.formats.llmfeed import feed as llmfeed_feed


def refusal(data: bytes) -> str:
    with pytest.raises(FormatError) as refused:
        list(llmfeed.read(io.BytesIO(data)))
    return str(refused.value)


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ('{\n "feed_type": "session",\n "a": [1,\n ]\n}', "line 4, column 2", "a trailing comma before the closing ]"),
        (
            '{\n "feed_type": "session",\n "a": {"b": 1,}\n}',
            "line 3, column 15",
            "a trailing comma before the closing }",
        ),
        ('{\n "feed_type": "session", // the kind\n "a": 1}', "line 2, column 26", "a comment"),
        ('{\n "feed_type": /* why */ "session"}', "line 2, column 15", "a comment"),
        ('{\n "feed_type": "session",\n "a": { "..." }\n}', "line 3, column 15", "':'"),
        ("{'feed_type': 'session'}", "line 1, column 2", "single quotes"),
        ('{"feed_type": "session", "a": "b', "line 1, column 31", "string"),
        ('{"feed_type": "session", "a": [1, 2', "line 1, column 36", "ends in the middle"),
    ],
)
def test_malformed_json_is_refused_with_line_column_and_reason(text: str, place: str, reason: str) -> None:
    message = refusal(text.encode())
    assert place in message
    assert reason in message


def test_bytes_that_are_not_utf8_are_named_with_their_offset() -> None:
    data = '{"feed_type": "session",\n "title": "a – b"}'.encode("cp1252")
    assert refusal(data) == f"The file is not UTF-8: byte 0x96 at offset {data.index(0x96)} (line 2)."


@pytest.mark.parametrize("feed_type", ["mcp", "prompt", "credential", "pricing", 7, ["session"], None])
def test_another_kind_of_feed_is_refused_by_its_name(feed_type: object) -> None:
    message = refusal(json.dumps({"feed_type": feed_type, "metadata": {"title": "x"}}).encode())
    assert "no feed_type" in message if feed_type is None else json.dumps(feed_type) in message
    assert "Sessions are session, session-feed, session-replay" in message


def test_an_export_without_a_session_is_refused() -> None:
    assert "holds no item of type session" in refusal(b'{"feed_type": "export", "data": [{"type": "quote"}]}')


def test_a_feed_type_in_the_wrong_place_is_reported() -> None:
    assert 'metadata says "mcp-lite"' in refusal(b'{"metadata": {"feed_type": "mcp-lite"}, "data": []}')


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b'"session"', b"7"])
def test_json_that_is_no_object_is_refused(data: bytes) -> None:
    assert refusal(data)


def test_deep_nesting_is_refused() -> None:
    for depth in (300, 900, 5_000, 100_000):
        assert "nested deeper than 200 levels" in refusal(
            b'{"feed_type":"session","a":' + b"[" * depth + b"]" * depth + b"}"
        )


def test_a_number_of_thousands_of_digits_is_refused() -> None:
    assert "4,300 digits" in refusal(b'{"feed_type":"session","a":' + b"1" * 5_000 + b"}")


def test_a_gzip_bomb_is_refused_at_the_size_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llmfeed_feed, "MAX_BYTES", 1024 * 1024)
    bomb = gzip.compress(b'{"feed_type":"session","a":"' + b"x" * 8_000_000 + b'"}')
    assert "larger than 1 MB" in refusal(bomb)


def test_a_damaged_gzip_file_is_refused() -> None:
    assert "cannot be unpacked" in refusal(gzip.compress(b'{"feed_type":"session"}' * 100)[:-20])


def test_a_gzipped_session_is_read() -> None:
    data = gzip.compress(b'{"feed_type":"session","context":{"user_input":"hi"}}')
    drafts = list(llmfeed.read(io.BytesIO(data)))
    assert [draft.text for draft in drafts if isinstance(draft, EventDraft)] == ["hi"]


def test_nan_and_lone_surrogates_are_repaired_and_said() -> None:
    drafts = list(llmfeed.read(io.BytesIO(b'{"feed_type":"session","context":{"user_input":"a\\ud800b","x":NaN}}')))
    assert [draft.text for draft in drafts if isinstance(draft, EventDraft)][-1] == "a\ufffdb"
    assert [draft.message for draft in drafts if getattr(draft, "rule", "") == "L3"]


def test_blocks_of_a_session_are_read_without_a_feed_type_and_that_is_said() -> None:
    drafts = list(llmfeed.read(io.BytesIO(b'{"session_summary": {"topic": "Tea"}}')))
    assert [draft.title for draft in drafts if isinstance(draft, SessionDraft)] == ["Tea"]
    assert "no feed_type" in next(draft.message for draft in drafts if getattr(draft, "rule", "") == "L2")
