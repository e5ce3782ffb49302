"""A zip archive is one import of many sessions, and cannot do harm."""

from __future__ import annotations

import io
import json
import stat
import zipfile
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from bench.formats.corpus import CORPUS
from sessions_app.ids import uuid7
from sessions_app.models import Event, Session
from tests.formats.corpus import needs_corpus
from tests.places import SAMPLES
from tests.signing import make
from vcon_app.formats import claude_code
from vcon_app.formats.common import zips
from vcon_app.models import Import
from vcon_app.queries import sources
from vcon_app.services.documents import archives, event_bytes
from vcon_app.services.imports import claims, import_jobs
from vcon_app.services.trust import anchors, signatures

from ..files import OWNER, transcript, vcon
from ..imports.test_imports import BY, drop, keys

pytestmark = pytest.mark.django_db
OTHER = "7d1c2a90-55aa-4c11-8f00-9a8b7c6d5e4f"
BUNDLES = CORPUS / "vcon-spec-examples" / "made-here"
TWO = {"a/one.jsonl": transcript(4), "two.vcon": vcon("Hello", "Good day")}


def packed(members: dict[str, bytes] | list[tuple[str | zipfile.ZipInfo, bytes]], method=zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items() if isinstance(members, dict) else members:
            archive.writestr(name, data)
    return file.getvalue()


def rules(done: Import) -> list[tuple[str, str, str]]:
    return [(finding["rule"], finding["severity"], finding["path"]) for finding in done.findings]


def patched(data: bytes, signature: bytes, offset: int, value: bytes) -> bytes:
    """The archive with bytes of its last header of that kind replaced."""
    at = data.rindex(signature) + offset
    return data[:at] + value + data[at + len(value) :]


def test_each_member_is_read_in_its_own_format_into_the_same_import(workspace):
    done = drop(workspace, packed(TWO), "all.zip")
    assert (done.status, done.format, done.events, done.error) == (Import.Status.DONE, "zip", 6, None)
    read = {(link.session.external_id, link.session.source_format, link.events) for link in done.session_links.all()}
    assert read == {(OWNER, "claude-code", 4), ("0195c5f0-7d1e-8a00-b5d3-0e2a7c1f9b44", "vcon", 2)}
    assert set(Event.objects.values_list("document", flat=True)) == {done.document.sha256}


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_events_say_in_which_member_they_stand_and_their_bytes_are_found_again(workspace, method):
    done = drop(workspace, packed(TWO, method), "all.zip")
    line = Event.objects.get(session__external_id=OWNER, seq=2)
    found = event_bytes.read(line, done.document)
    assert line.pointer == "a/one.jsonl: L2/message/content/0"
    assert (found.data, found.is_exact) == (transcript(4).splitlines()[1], True)
    part = Event.objects.filter(session__source_format="vcon").first()
    assert part.pointer.startswith("two.vcon: /dialog/0")
    assert b"Hello" in event_bytes.read(part, done.document).data


def test_a_member_whose_name_begins_like_another_is_told_apart(workspace):
    done = drop(workspace, packed({"my": transcript(2), "my: own": transcript(2, OTHER)}), "all.zip")
    event = Event.objects.get(session__external_id=OTHER, seq=1)
    assert json.loads(event_bytes.read(event, done.document).data)["sessionId"] == OTHER


def test_findings_say_in_which_member(workspace):
    odd = transcript(2) + b"{broken}\n" + transcript(3)
    done = drop(workspace, packed({"fine.jsonl": transcript(2, OTHER), "odd.jsonl": odd}), "all.zip")
    assert "odd.jsonl: L3" in {path for _, _, path in rules(done)}
    event = Event.objects.get(session__external_id=OWNER, kind="unknown")
    assert [finding["path"] for finding in sources.findings_at(sources.link_of(event), event.pointer)] == [
        event.pointer
    ]


def test_a_finding_about_a_line_is_shown_with_the_parts_of_the_line():
    assert sources._about("a.jsonl: L3", "a.jsonl: L3/message/0")
    assert not sources._about("a.jsonl: L3", "a.jsonl: L31/message/0")
    assert not sources._about("a.json: /dialog", "a.json: /dialog/0")


def test_archive_member_of_unknown_format_is_skipped_with_a_finding(workspace):
    done = drop(workspace, packed({"notes.txt": b"Buy milk", "empty": b"", "one.jsonl": transcript(2)}), "all.zip")
    assert done.events == 2
    assert rules(done) == [("zip.unrecognised", "info", "notes.txt"), ("zip.unrecognised", "info", "empty")]


def test_a_member_that_is_damaged_is_told_and_the_rest_goes_on(workspace):
    data = packed({"bad.jsonl": transcript(6, OTHER), "good.jsonl": transcript(4)})
    at = data.index(b"bad.jsonl") + 60
    done = drop(workspace, data[:at] + bytes(4) + data[at + 4 :], "all.zip")
    assert (done.status, done.events, Session.objects.get().external_id) == (Import.Status.DONE, 4, OWNER)
    assert rules(done) == [("zip.unreadable", "error", "bad.jsonl")]
    assert "damaged" in done.findings[0]["message"]


def test_what_a_member_added_before_its_reader_failed_is_taken_back(workspace, monkeypatch):
    read = claude_code.read

    def failing(source):
        for draft in read(source):
            if getattr(draft, "text", "") == "Please mend part4":
                raise RuntimeError("boom")
            yield draft

    monkeypatch.setattr(claude_code, "read", failing)
    done = drop(workspace, packed({"bad.jsonl": transcript(6, OTHER), "good.jsonl": transcript(4)}), "all.zip")
    assert (done.events, Session.objects.get().external_id) == (4, OWNER)
    assert rules(done) == [("zip.unreadable", "error", "bad.jsonl")]
    assert "RuntimeError" in done.findings[0]["message"]


@pytest.mark.parametrize(
    "data, why",
    [
        (packed({"a.txt": b"milk", "b.txt": b"bread"}), "there is no session in this zip archive of 2 files"),
        (packed({}), "there is no session in this zip archive of 0 files"),
        (packed({"dir/": b""}), "of 0 files"),
        (
            packed({"b.vcon": b'{"vcon": "0.3.0", "uuid": "x", "critical": ["moon"], "extensions": ["moon"]}'}),
            "b.vcon: ",
        ),
        (packed(TWO)[:-30], "the zip archive is damaged"),
        (b"PK\x03\x04..", "the zip archive is damaged"),
        (packed({"../" + "a.jsonl": transcript(2)}), "of 1 file could be read: ../a.jsonl: the name is no plain path"),
        (packed({"in.zip": packed(TWO)}), "could be read: in.zip: an archive in an archive; it is not opened"),
    ],
)
def test_an_archive_that_gives_nothing_is_a_failed_import_in_clear_words(workspace, data, why):
    done = drop(workspace, data, "all.zip")
    assert (done.status, done.session_links.count(), Session.objects.count()) == (Import.Status.FAILED, 0, 0)
    assert why in done.error and done.error.startswith("all.zip: ")


def test_members_with_names_that_lead_elsewhere_are_refused(workspace, tmp_path):
    names = ["../evil.jsonl", "/etc/evil.jsonl", "C:/evil.jsonl", "a/../../evil.jsonl", "..\\evil.jsonl", "x" * 1_001]
    members = [(name, transcript(2, OTHER)) for name in names]
    done = drop(workspace, packed([*members, ("one.jsonl", transcript(2))]), "all.zip")
    assert rules(done) == [("zip.unsafe-name", "error", name[:1_000]) for name in names]
    assert Session.objects.get().external_id == OWNER
    assert not list(tmp_path.rglob("*evil*"))


def test_links_encrypted_and_doubled_members_are_refused(workspace):
    link = zipfile.ZipInfo("link.jsonl")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with pytest.warns(UserWarning, match="Duplicate name"):
        data = packed([
            (link, b"/etc/passwd"), ("same.jsonl", transcript(2, OTHER)), ("same.jsonl", transcript(4, OTHER)),
            ("one.jsonl", transcript(2)), ("secret.jsonl", transcript(2, OTHER)),
        ])  # fmt: skip
    done = drop(workspace, patched(data, b"PK\x01\x02", 8, b"\x01\x00"), "all.zip")
    assert [(rule, path) for rule, _, path in rules(done)] == [
        ("zip.link", "link.jsonl"), ("zip.duplicate-name", "same.jsonl"), ("zip.duplicate-name", "same.jsonl"),
        ("zip.encrypted", "secret.jsonl"),
    ]  # fmt: skip
    assert Session.objects.get().external_id == OWNER


def test_rare_compressions_and_archives_inside_are_not_opened(workspace):
    file = io.BytesIO(packed({"one.jsonl": transcript(2), "inner.zip": packed({"two.jsonl": transcript(2, OTHER)})}))
    with zipfile.ZipFile(file, "a", zipfile.ZIP_LZMA) as archive:
        archive.writestr("rare.jsonl", transcript(2, OTHER))
    done = drop(workspace, file.getvalue(), "all.zip")
    assert rules(done) == [("zip.compression", "error", "rare.jsonl"), ("zip.nested", "warning", "inner.zip")]
    assert Session.objects.get().external_id == OWNER


def test_bombs_and_archives_that_are_too_large_fail_cleanly(workspace, settings, monkeypatch):
    bomb = packed({"zeros.json": bytes(20 * 1024 * 1024), "one.jsonl": transcript(2)})
    assert "over 200 times its size" in drop(workspace, bomb, "bomb.zip").error
    settings.MAX_UPLOAD_BYTES = 100_000
    assert "more than the limit of" in drop(workspace, packed({"one.jsonl": transcript(500)}), "all.zip").error
    monkeypatch.setattr(zips, "MAX_MEMBERS", 10)
    many = packed({f"{number}.txt": b"" for number in range(11)})
    assert "has 11 members; 10 are the limit" in drop(workspace, many, "many.zip").error
    monkeypatch.setattr(zips, "MAX_DIRECTORY", 400)
    assert "list of members of" in drop(workspace, many + b"", "many.zip").error
    assert not Session.objects.exists()


def test_false_member_size_does_not_evade_the_limits(workspace):
    data = packed({"one.jsonl": transcript(2), "zeros.json": bytes(5 * 1024 * 1024)})
    small = (1_000).to_bytes(4, "little")
    done = drop(workspace, patched(data, b"PK\x01\x02", 24, small), "all.zip")
    assert rules(done) == [("zip.unreadable", "error", "zeros.json")]


def test_uncompressed_member_does_not_decide_the_format_of_the_archive(workspace):
    log = packed({"_journal/start.json": b"{}", "header.json": b"{}"}, zipfile.ZIP_STORED)
    done = drop(workspace, packed({"log.eval": log, "one.jsonl": transcript(4)}, zipfile.ZIP_STORED), "all.zip")
    assert (done.format, done.events) == ("zip", 4)
    assert rules(done) == [("zip.unreadable", "error", "log.eval")]
    for sample in (path for path in SAMPLES.rglob("*") if path.is_file()):
        data = packed({sample.name: sample.read_bytes()}, zipfile.ZIP_STORED)
        assert archives.is_archive(io.BytesIO(data), "auto"), sample


@needs_corpus
def test_logs_that_are_zips_themselves_are_no_archives():
    logs = sorted((CORPUS / "transcripts" / "inspect").rglob("*.eval"))
    assert logs and [log.name for log in logs if archives.is_archive(io.BytesIO(log.read_bytes()), "auto")] == []


def test_members_beyond_memory_are_read_from_disk(workspace, monkeypatch):
    monkeypatch.setattr(zips, "IN_MEMORY", 100)
    assert drop(workspace, packed(TWO), "all.zip").events == 6


def test_the_same_archive_again_is_the_same_import(workspace):
    data = packed(TWO)  # packed a moment later it would have other times in it
    first = drop(workspace, data, "all.zip")
    assert import_jobs.start_import(workspace, "again.zip", [data], by=BY).duplicate_of == first


def test_another_archive_adds_only_what_is_new(workspace):
    drop(workspace, packed(TWO), "monday.zip")
    grown = {"a/one.jsonl": transcript(6), "two.vcon": TWO["two.vcon"], "three.jsonl": transcript(2, OTHER)}
    tuesday = drop(workspace, packed(grown), "tuesday.zip")
    assert (tuesday.events, Session.objects.count()) == (4, 3)
    assert len(keys(Session.objects.get(external_id=OWNER))) == 6


def test_a_file_and_an_archive_with_it_give_the_same_session_in_any_order(workspace):
    drop(workspace, transcript(2))
    assert drop(workspace, packed(TWO), "all.zip").events == 4
    assert drop(workspace, transcript(4)).events == 0
    assert Session.objects.filter(external_id=OWNER).count() == 1


def test_of_a_format_that_is_asked_for_only_members_in_it_are_read(workspace):
    done = drop(workspace, packed(TWO), "all.zip", format="vcon")
    assert [link.session.source_format for link in done.session_links.all()] == ["vcon"]
    assert rules(done) == [("zip.other-format", "info", "a/one.jsonl")]


def test_signature_of_an_archive_is_that_of_its_worst_member(workspace):
    signer = make.recorder(dates=(make.START, timezone.now() + timedelta(days=3650)))
    signed = json.dumps(make.signed(make.VCON, signer)).encode()
    alone = drop(workspace, packed({"signed.vcon": signed, "notes.txt": b"milk"}), "alone.zip")
    mixed = drop(workspace, packed({"signed.vcon": signed, "one.jsonl": transcript(2)}), "mixed.zip")
    assert [done.signature["state"] for done in (alone, mixed)] == ["valid_untrusted", "unsigned"]
    assert ("R89", "warning", "signed.vcon: /signatures/0") in rules(alone)
    anchors.add(workspace, signer.pem, by=BY)
    assert signatures.check_again(workspace.pk) == 2, "a session of the second has another state, too"
    for done, state in ((alone, "valid"), (mixed, "unsigned")):
        done.refresh_from_db()
        assert done.signature["state"] == state
        assert "R89" not in {rule for rule, _, _ in rules(done)}


def test_finding_about_changed_bytes_survives_a_second_check(workspace):
    changed = make.signed(make.VCON, make.recorder()) | {
        "payload": make.b64(json.dumps(make.VCON | {"uuid": OTHER}).encode())
    }
    done = drop(workspace, packed({"signed.vcon": json.dumps(changed).encode(), "one.jsonl": transcript(2)}), "all.zip")
    before = rules(done)
    anchors.add(workspace, make.recorder().pem, by=BY)
    signatures.check_again(workspace.pk)
    done.refresh_from_db()
    assert (done.signature["state"], rules(done)) == ("invalid", before)


def bundle(*, files: dict[str, bytes] | None = None, uuid="0195c5f0-7d1e-8a00-b5d3-0e2a7c1f9b44", **manifest) -> bytes:
    told = json.dumps({"format": "vcon-bundle", "version": "1.0"} | manifest).encode()
    return packed({"manifest.json": told, f"vcons/{uuid}.json": vcon("Hello")} | (files or {}))


ABC = "files/sha512-3a81oZNherrMQXNJriBBMRLm-k6JqX6iCp7u5ktV05ohkpkqJ0_BqDa6PCOj_uu9RU1EI2Q86A4qmslPpUyknw"


def test_a_bundle_of_vcons_is_read_and_its_files_are_checked(workspace):
    done = drop(workspace, bundle(files={f"{ABC}.txt": b"abc"}), "b.vconz")
    assert (done.status, done.events, rules(done)) == (Import.Status.DONE, 1, [])


def test_oddities_of_a_bundle_become_findings(workspace):
    files = {
        f"{ABC}.txt": b"abd", "files/photo.png": b"x", "extensions/moon/metadata.json": b"{}",
        "files/sha256-x.json": vcon("Smuggled"), "vcons/second.json": vcon("Hi", uuid=OTHER),
    }  # fmt: skip
    done = drop(workspace, bundle(files=files, uuid=OWNER, version="9"), "b.vconz")
    assert [(severity, path) for rule, severity, path in rules(done) if rule == "R95"] == [
        ("warning", "manifest.json"), ("error", f"{ABC}.txt"), ("warning", "files/photo.png"),
        ("info", "extensions/moon/metadata.json"), ("error", "files/sha256-x.json"),
        ("warning", f"vcons/{OWNER}.json"), ("warning", "vcons/second.json"),
    ]  # fmt: skip
    assert not Event.objects.filter(text="Smuggled").exists()


def test_a_bundle_that_leads_out_or_holds_no_vcon_is_refused_whole(workspace):
    slip = drop(workspace, bundle(files={"../../evil.txt": b"x"}), "b.vconz")
    assert slip.status == Import.Status.FAILED and "../../evil.txt" in slip.error and "R96" in slip.error
    empty = drop(workspace, packed({"manifest.json": b'{"format": "vcon-bundle"}', "a.json": vcon("Hi")}), "b.vconz")
    assert empty.status == Import.Status.FAILED and "holds no vCon" in empty.error
    assert not Session.objects.exists()


@needs_corpus
@pytest.mark.parametrize(
    "name, status, expected",
    [
        ("f60-bundle.vconz", Import.Status.DONE, []),
        ("f61-bundle-hash-mismatch.vconz", Import.Status.DONE, ["the file is refused: its bytes are not of the hash"]),
        ("f62-bundle-zip-slip.vconz", Import.Status.FAILED, []),
    ],
)
def test_the_bundles_of_the_corpus_give_what_is_expected_of_them(workspace, name, status, expected):
    done = drop(workspace, (BUNDLES / name).read_bytes(), name)
    assert done.status == status
    refused = [finding["message"] for finding in done.findings if finding["severity"] == "error"]
    assert [message[: len(start)] for message, start in zip(refused, expected, strict=True)] == expected
    assert Session.objects.count() == (status == Import.Status.DONE)


def test_an_archive_of_very_many_sessions_takes_few_locks(workspace):
    held = claims.Claims(workspace.pk, uuid7())
    for number in range(3_000):
        held.hold("claude-code", str(number))
        held.hold("claude-code", f"parent of {number}", shared=True)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(DISTINCT objid) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
        )
        assert 1_000 < cursor.fetchone()[0] <= 2 * claims.LOCKS
