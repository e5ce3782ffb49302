"""``.eval`` files: zips that are read member by member, and refused when they are made to hurt."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app.drafts import FormatError
from vcon_app.formats import inspect_ai
from vcon_app.formats.common.head import SIZES, Head
from vcon_app.formats.inspect_ai import archive

from ..reads import assert_sound, events, findings, read, sessions

LOG = json.loads((SAMPLES / "inspect" / "jars.json").read_bytes())
HEADER = {name: value for name, value in LOG.items() if name not in ("samples", "reductions")}


def packed(members: dict[str, Any], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", method) as archive:
        for name, value in members.items():
            archive.writestr(name, value if isinstance(value, (bytes, str)) else json.dumps(value))
    return held.getvalue()


def members(**more: Any) -> dict[str, Any]:
    found = {f"samples/jars_epoch_{sample['epoch']}.json": sample for sample in LOG["samples"]}
    return {"_journal/start.json": HEADER, **found, "summaries.json": [], "header.json": HEADER, **more}


def refused(data: bytes) -> str:
    with pytest.raises(FormatError) as told:
        read(inspect_ai, data)
    return str(told.value)


def test_a_zipped_log_tells_what_the_same_log_as_json_tells() -> None:
    data = packed(members())
    assert inspect_ai.detect(Head(data[: SIZES[0]]))
    zipped, plain = read(inspect_ai, data), read(inspect_ai, LOG)
    assert [event.key for event in events(zipped)] == [event.key for event in events(plain)]
    assert sessions(zipped) == sessions(plain)
    assert events(zipped)[3].pointer == "/samples/jars_epoch_1.json/events/3"


def test_a_log_that_is_still_written_has_its_header_in_the_journal() -> None:
    unfinished = {name: value for name, value in members().items() if name not in ("header.json", "summaries.json")}
    found = read(inspect_ai, packed(unfinished))
    assert [session.external_id for session in sessions(found)] == ["uuid-jars-1", "uuid-jars-2"]


@pytest.mark.parametrize(
    "names", [["samples/", "samples/session.jsonl"], ["a.txt"], ["conversations.json"], ["mimetype", "content.xml"]]
)
def test_other_zips_are_not_claimed(names: list[str]) -> None:
    assert not inspect_ai.detect(Head(packed(dict.fromkeys(names, "x" * 500))))
    assert "header.json" in refused(packed(dict.fromkeys(names, "x")))


def test_a_member_in_zstandard_is_refused_by_name() -> None:
    data = bytearray(packed(members()))
    name = b"samples/jars_epoch_1.json"
    at = data.index(name)
    data[at - 22 : at - 20] = (93).to_bytes(2, "little")  # the method in the local header, then in the directory
    at = data.index(name, at + 1)
    data[at - 36 : at - 34] = (93).to_bytes(2, "little")
    message = refused(bytes(data))
    assert "samples/jars_epoch_1.json" in message and "Zstandard" in message


def test_a_zip_that_is_cut_off_is_refused() -> None:
    data = packed(members())
    assert "cannot be read" in refused(data[: len(data) // 2])


def test_a_member_whose_bytes_are_not_those_it_promises_is_refused() -> None:
    data = bytearray(packed(members(), zipfile.ZIP_STORED))
    at = data.index(b"Label the jars.")
    data[at] ^= 1
    assert "damaged" in refused(bytes(data))


def test_an_encrypted_member_is_refused() -> None:
    data = bytearray(packed({"header.json": HEADER, "samples/x_epoch_1.json": LOG["samples"][0]}))
    at = data.rindex(b"samples/x_epoch_1.json")
    data[at - 38] |= archive.ENCRYPTED
    assert "encrypted" in refused(bytes(data))


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    message = refused(packed(members(**{"samples/bomb_epoch_1.json": b" " * (8 * 1024**2)})))
    assert "samples/bomb_epoch_1.json" in message and "times its size" in message


def test_more_than_the_limit_in_all_members_together_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_UNPACKED", 5_000)
    assert "5,000" in refused(packed(members()))


def test_a_sample_that_cannot_be_parsed_or_is_too_large_is_told_and_the_others_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = read(inspect_ai, packed(members(**{"samples/broken_epoch_1.json": '{"id": ', "samples/list.json": "[1]"})))
    assert len(sessions(found)) == 2 and "inspect.malformed-line" in findings(found)
    monkeypatch.setattr(archive, "MAX_DOCUMENT", 4_000)
    assert "inspect.large-sample" in findings(read(inspect_ai, packed(members())))


def test_names_of_members_are_never_used_as_paths() -> None:
    found = read(inspect_ai, packed(members(**{"samples/../../etc/x.json": LOG["samples"][0] | {"uuid": "other"}})))
    assert_sound(found)
    assert [session.external_id for session in sessions(found)] == ["uuid-jars-1", "uuid-jars-2", "other"]


def test_a_zip_that_lost_bytes_in_its_middle_is_refused() -> None:
    """Python's zipfile then looks for members before the beginning of the file."""
    whole = packed(members())
    assert "damaged" in refused(whole[:60] + whole[len(whole) // 2 :])
