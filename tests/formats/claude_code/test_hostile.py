"""Files that are damaged or made to hurt: each oddity is told, and all that can be read is."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
from typing import Any

import pytest

from vcon_app.drafts import Finding, FormatError
from vcon_app.formats import claude_code
from vcon_app.formats.common import lines as line_reader
from vcon_app.formats.common.head import Head
from vcon_app.formats.common.jsonio import dumps

from .lines import assistant, call, drafts, drafts_of, events, findings, jsonl, line, result, text, user

PROMPT = jsonl(user("u1", "Prune the pear tree."))


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\0" * 100, b"Dear diary,\n", b"[]\n[]\n", b'{"loglines": []}'])
def test_a_file_without_any_object_is_refused_with_a_reason(data: bytes) -> None:
    with pytest.raises(FormatError, match="is a JSON object"):
        drafts_of(data)


def test_a_malformed_line_is_an_unknown_event_and_a_finding_with_its_beginning() -> None:
    found = drafts_of(PROMPT + b'{"type": "user", oops}\n' + jsonl(user("u2", "Next.")))
    unknown = events(found)[1]
    assert unknown.kind == "unknown" and unknown.text == '{"type": "user", oops}'
    assert (unknown.pointer, unknown.offset, unknown.length) == ("L2", len(PROMPT), 22)
    finding = findings(found)["claude-code.malformed-line"]
    assert (finding.severity, finding.path) == ("warning", "L2") and "oops" in finding.message
    assert events(found)[2].key == "u2"


def test_many_malformed_lines_are_counted_and_not_all_listed() -> None:
    found = [f for f in drafts_of(PROMPT + b"oops\n" * 200) if isinstance(f, Finding)]
    assert len(found) == 50
    assert found[-1].message == "151 more of these are not listed"


def test_objects_glued_on_one_line_are_each_read_at_their_own_offset() -> None:
    data = PROMPT[:-1] + b"  " + jsonl(user("u2", "Grüße"))[:-1] + jsonl(user("u3", "Next."))
    found = drafts_of(data)
    assert [event.key for event in events(found)] == ["u1", "u2", "u3"]
    for event in events(found):
        assert json.loads(data[event.offset : event.offset + event.length])["uuid"] == event.key
    assert "3 objects" in findings(found)["claude-code.glued-objects"].message


def test_text_after_an_object_on_its_line_is_malformed() -> None:
    found = drafts_of(PROMPT[:-1] + b"}}\n")
    assert [event.kind for event in events(found)] == ["user_message", "unknown"]
    assert events(found)[1].text == "}}"


def test_byte_order_mark_carriage_returns_and_blank_lines_do_no_harm() -> None:
    found = drafts_of(b"\xef\xbb\xbf" + PROMPT[:-1] + b"\r\n\r\n   \n" + jsonl(user("u2", "Next.")))
    assert [event.pointer for event in events(found)] == ["L1/message/content", "L4/message/content"]
    assert events(found)[0].offset == 3
    assert not findings(found)


def test_nan_surrogates_and_nul_are_repaired_and_reported() -> None:
    data = PROMPT + b"\0" * 64 + rb'{"type":"mode","mode":"x","level":NaN,"sessionId":"s"}' + b"\n"
    data += rb'{"type":"user","uuid":"u2","message":{"content":"a\ud83db \u0000 c \\u0000"}}' + b"\n" + b"\0" * 512
    found = drafts_of(data)
    assert events(found)[-1].text == "a\ufffdb \ufffd c \\u0000"
    told = [f.message for f in found if isinstance(f, Finding)]
    assert (
        "NaN read as null" in told and "NUL replaced by U+FFFD" in told and "lone surrogate replaced by U+FFFD" in told
    )
    assert "512 bytes" in findings(found)["claude-code.nul-bytes"].message


def test_a_line_over_the_limit_is_skipped_without_parsing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_reader, "MAX_LINE", 10_000)
    huge = jsonl(user("u2", "x" * 3_000_000))
    found = drafts_of(PROMPT + huge + jsonl(user("u3", "Next.")))
    assert [event.key for event in events(found)][::2] == ["u1", "u3"]
    skipped = events(found)[1]
    assert (skipped.kind, skipped.offset, skipped.length) == ("unknown", len(PROMPT), len(huge))
    assert len(skipped.text) == 200


@pytest.mark.parametrize("depth", [300, 900, 100_000])
def test_deep_nesting_never_reaches_a_writer(depth: int) -> None:
    deep = (
        b'{"type":"assistant","uuid":"a1","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"a":'
        + (b"[" * depth + b"]" * depth + b"}}]}}\n")
    )
    for event in events(drafts_of(PROMPT + deep)):
        assert len(dumps(event.tool.arguments if event.tool else event.data)) < 1000


ODD: list[Any] = [None, 0, -1, 1e308, 10**30, True, "", "x", [], [None, [], {}, "x", 7], {}, {"": {}}, {"type": []}]


@pytest.mark.parametrize("type", [*claude_code.HANDLERS, "result", "moon", ""])
def test_values_of_the_wrong_type_are_read_without_a_fault(type: str) -> None:
    keys = (
        "uuid", "timestamp", "sessionId", "parentUuid", "agentId", "isSidechain", "isMeta", "version", "cwd", "message",
        "toolUseResult", "attachment", "data", "snapshot", "content", "subtype", "compactMetadata", "error", "origin",
        "summary", "leafUuid", "aiTitle", "costUSD", "requestId", "parentToolUseID", "promptSource", "sourceToolUseID",
    )  # fmt: skip
    values = [{"type": type, key: odd} for key in keys for odd in ODD]
    found = drafts_of(PROMPT + jsonl(*values))
    assert len(events(found)) >= len(values)


@pytest.mark.parametrize("key", ["content", "model", "id", "usage", "stop_reason", "role"])
@pytest.mark.parametrize("make", [user, assistant])
def test_messages_of_the_wrong_shape_are_read_without_a_fault(make: Any, key: str) -> None:
    value = {"content": [call("t", "Bash"), result("t", "x"), text("x")], "usage": {"output_tokens": 1}, "id": "m"}
    values = [line(make.__name__, f"l{n}", message={**value, key: odd}) for n, odd in enumerate(ODD)]
    assert len({event.key.split(":")[0] for event in events(drafts(*values))}) == len(ODD)


@pytest.mark.parametrize("field", ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation"])
def test_counts_that_cannot_be_are_not_believed(field: str) -> None:
    for odd in ODD:
        usage = events(drafts(assistant("a1", text("x"), usage={"input_tokens": 3, field: odd})))[0].usage
        counts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
        assert all(type(count) is int and 0 <= count < 10**12 for count in counts)


def test_payloads_of_pictures_never_get_into_a_draft() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD" * 1000}}
    found = events(
        drafts(user("u1", [picture]), user("u2", [result("t", [picture])], toolUseResult={"file": {"base64": "QUJD"}}))
    )
    assert [event.data["attachments"] for event in found] == [
        [{"type": "image", "media_type": "image/png", "bytes": 3000}]
    ] * 2
    assert "QUJD" not in repr(found)


def test_a_huge_field_of_a_result_is_cut_with_a_mark() -> None:
    patch = [{"oldStart": 1, "lines": ["+" + "x" * 300_000]}]
    found = events(drafts(user("u1", [result("t", "ok")], toolUseResult={"filePath": "a", "structuredPatch": patch})))
    line_of_patch = found[0].tool.result["structuredPatch"][0]["lines"][0]
    assert len(line_of_patch) < 263_000 and line_of_patch.endswith("[cut: 37857 more characters]")


def test_regular_expressions_do_not_explode() -> None:
    texts = [
        "<system-reminder>" * 50_000,
        "<command-name>" + " " * 200_000,
        "<a>" * 100_000,
        "<" + "a-" * 200_000,
        " " * 200_000,
    ]
    assert len(events(drafts(*[user(f"u{n}", words) for n, words in enumerate(texts)]))) >= len(texts)


def test_a_compressed_transcript_is_read_and_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(PROMPT)
    assert claude_code.detect(Head(packed))
    assert [(event.key, event.offset) for event in events(drafts_of(packed))] == [("u1", None)]
    monkeypatch.setattr(line_reader, "MAX_UNPACKED", 100_000)
    with pytest.raises(FormatError, match="unpacked it is larger than"):
        drafts_of(gzip.compress(PROMPT + b"{}\n" * 50_000))


def test_memory_does_not_grow_with_the_file() -> None:
    small, large = peak_memory(2_000), peak_memory(20_000)
    assert large < small * 1.5, f"{small} bytes for 2,000 lines, {large} bytes for 20,000"


def peak_memory(count: int) -> int:
    """Peak bytes while ``count`` lines are read, each with ids of its own: calls, results, summaries, sub-agents.

    What is remembered of them is full after some 4,000 lines; a reader that kept all would need ten times as much.
    """
    data = io.BytesIO(b"".join(jsonl(*four_lines(n)) for n in range(count // 4)))
    tracemalloc.start()
    for _ in claude_code.read(data):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def four_lines(n: int) -> list[dict[str, Any]]:
    side = {"isSidechain": n % 3 == 0, "agentId": f"agent{n}"}
    words = "Cut above the bud. " * 20
    return [
        assistant(
            f"a{n:06}", call(f"t{n:06}", "Task", prompt=f"{words}{n}"), id=f"m{n:06}", usage={"output_tokens": 9}
        ),
        user(f"s{n:06}", f"{words}{n}", **side),
        user(f"r{n:06}", [result(f"t{n:06}", words)], toolUseResult={"agentId": f"agent{n}", "status": "completed"}),
        line("summary", None, summary=words, leafUuid=f"leaf{n:06}", sessionId=f"other{n}", type_=f"x{n}"),
    ]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("around", [lambda lines: lines, lambda lines: {"loglines": lines}])
def test_lines_in_one_document_are_the_lines_of_a_file(mark: bytes, around: Any) -> None:
    lines = [user("u1", "Prune."), assistant("a1", text("Done."))]
    found = drafts_of(mark + json.dumps(around(lines), indent=2).encode())
    assert [(event.kind, event.key) for event in events(found)] == [("user_message", "u1"), ("agent_message", "a1")]
    assert not findings(found)


def test_a_session_from_the_web_that_is_nested_to_no_end_is_read_with_a_note() -> None:
    nested = b'{"a":' * 5_000 + b"1" + b"}" * 5_000
    lines = b",".join(line.strip() for line in jsonl(user("u1", "Hello"), assistant("a1", text("Hi"))).splitlines())
    data = b'{"loglines": [' + lines[:-1] + b', "odd": ' + nested + b"}]}"
    found = events(drafts_of(data))
    assert [event.kind for event in found] == ["user_message", "agent_message"]
