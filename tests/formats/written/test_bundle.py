"""A bundle says by itself whether it is what was signed: every byte of it counts, and hostile archives are one line."""

from __future__ import annotations

import hashlib
import io
import json
import stat
import struct
import zipfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from importlib import import_module

import pytest

from tests.signing.make import AT, ed_key, owner, private_pem, public_pem, root, rsa_key
from vcon_app.drafts import EventDraft, FormatError, Losses, SessionDraft
from vcon_app.formats import bundle, vcon
from vcon_app.formats.bundle import audit_rows, layout, packing
from vcon_app.formats.common.zips import Archive
from vcon_app.signing import receipt
from vcon_app.signing.keys import Anchor, anchor_of
from vcon_app.signing.signers import Signer, new_key_pem, signer_of

PEM = new_key_pem("Countersign at desk.example", AT)
OURS = signer_of(PEM, PEM)
ANCHOR = Anchor(OURS.key.public_key(), OURS.certificates[0], "the desk")
FILE = b'{"type": "user", "text": "Mend the clock"}\n' * 200
SESSION = SessionDraft(external_id="s-1", title="Mend the clock", agent_name="Porter", phase="completed")
EVENTS = [
    EventDraft(kind="user_message", key="a", at=AT, actor_kind="person", text="Mend the clock"),
    EventDraft(kind="agent_message", key="b", at=AT, actor_kind="agent", text="Done"),
]
SHA = hashlib.sha256(FILE).hexdigest()


def entry(seq: int, previous: str, action: str = "session.exported", **details) -> bundle.AuditRow:
    text = json.dumps({"seq": seq, "action": action, "details": details}, sort_keys=True)
    return bundle.AuditRow(seq, previous, hashlib.sha256(f"{previous}{text}".encode()).hexdigest(), text)


def audit() -> list[bundle.AuditRow]:
    first = entry(3, "0" * 64, "import.started", sha256=SHA)
    second = entry(4, first.hash)
    return [first, second, entry(9, "1" * 64)]


def original(name: str = "clock.jsonl", data: bytes = FILE) -> bundle.Original:
    return bundle.Original(name, len(data), lambda: iter([data]), hashlib.sha256(data).hexdigest())


def receipts() -> list[tuple[str, str]]:
    last = audit()[-1]
    said = {
        "version": receipt.VERSION, "approval": "a-1", "session": {"id": "0198"},
        "audit": {"seq": last.seq, "hash": last.hash},
    }  # fmt: skip
    return [("a-1", receipt.sign(said, OURS))]


def options(**parts) -> dict:
    given = {
        "session_id": "0198", "original": original(), "audit": audit(), "signer": OURS, "exported_by": "Ines",
        "receipts": receipts(),
    }  # fmt: skip
    return {
        "uuid": "0195c5f0-7d1e-8a00-b5d3-0e2a7c1f9b44", "created_at": AT, "product_version": "1.0", "bodies": "json",
        "parts": bundle.Parts(**(given | parts)),
    }  # fmt: skip


def made(**parts) -> bytes:
    return b"".join(bundle.write(SESSION, EVENTS, Losses(), options=options(**parts)))


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def packed(contents: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return file.getvalue()


def checked(data: bytes, *anchors: Anchor) -> bundle.Report:
    return bundle.verify(Archive(io.BytesIO(data)), anchors or [ANCHOR], AT + timedelta(days=1))


def test_a_bundle_holds_original_vcon_audit_losses_and_the_manifest_of_all():
    held = members(made())
    assert list(held) == [
        "README.txt", "original/clock.jsonl", "session.vcon", "audit.jsonl", "receipts.jsonl", "losses.json",
        "signer.pem", "manifest.json", "manifest.jws",
    ]  # fmt: skip
    told = json.loads(held["manifest.json"])
    assert (told["format"], told["version"], told["exported"]["by"]) == ("countersign-bundle", 1, "Ines")
    assert [row["path"] for row in told["members"]] == list(held)[:-2]
    for row in told["members"]:
        assert (row["size"], row["sha256"]) == (
            len(held[row["path"]]), hashlib.sha256(held[row["path"]]).hexdigest(),
        )  # fmt: skip
    assert held["original/clock.jsonl"] == FILE
    assert b"session of an AI agent" in held["README.txt"] and b"original/clock.jsonl" in held["README.txt"]


def test_bundle_verifies_and_names_the_signer():
    report = checked(made())
    assert (report.signature.state, report.signature.signer, report.findings) == ("valid", "the desk", [])
    assert any("session.vcon: valid, by the desk" in fact for fact in report.facts)


def test_bundle_with_an_unknown_key_is_genuine_but_untrusted():
    stranger = signer_of(private_pem(rsa_key()).encode(), owner("Recorder", rsa_key()).pem.encode())
    report = checked(made(), Anchor(stranger.key.public_key()))
    assert report.signature.state == "valid_untrusted"
    assert report.signature.signer == "Countersign at desk.example"


@pytest.mark.parametrize("key", [rsa_key(), ed_key()], ids=["RS256", "EdDSA"])
def test_a_bare_key_signs_the_manifest_and_leaves_the_vcon(key):
    bare = signer_of(private_pem(key).encode())
    data = made(signer=bare)
    report = checked(data, anchor_of(public_pem(key), "theirs"))
    assert (report.signature.state, report.findings) == ("valid", [])
    assert json.loads(members(data)["manifest.json"])["vcon"]["signed"] is False
    assert anchor_of(members(data)["signer.pem"].decode()).key == key.public_key()
    assert checked(data, root().anchor).signature.state == "uncheckable"


def test_bundle_without_a_key_is_unsigned_and_complete():
    report = checked(made(signer=None))
    assert (report.signature.state, report.findings) == ("unsigned", [])


def test_a_session_that_was_made_here_has_no_original_and_the_manifest_says_so():
    data = made(original=None)
    assert json.loads(members(data)["manifest.json"])["original"] is None
    assert b"There is no original" in members(data)["README.txt"]
    assert checked(data).signature.state == "valid"
    assert bundle.session_in(Archive(io.BytesIO(data))).filename == "session.vcon"


def test_the_vcon_of_a_session_that_goes_on_is_not_signed_by_itself():
    data = made(unsigned_vcon="the session still goes on")
    held = members(data)
    assert json.loads(held["manifest.json"])["vcon"]["why_not"] == "the session still goes on"
    assert "signatures" not in json.loads(held["session.vcon"])
    assert any("still goes on" in fact for fact in checked(data).facts)


NAMES = list(members(made()))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("at", [0, -3, -1], ids=["first byte", "a late byte", "last byte"])
def test_a_byte_that_was_changed_in_any_member_is_told_with_its_name(name, at):
    held = members(made())
    data = bytearray(held[name])
    data[at] ^= 1
    assert _refusal(packed(held | {name: bytes(data)}), name) == name


@pytest.mark.parametrize("name", NAMES)
def test_a_member_that_was_taken_out_is_told_with_its_name(name):
    held = members(made())
    del held[name]
    assert _refusal(packed(held), name) == name


def _refusal(data: bytes, name: str) -> str:
    """The name, if the bundle is not valid and this is said of it."""
    assert bundle.is_bundle(Archive(io.BytesIO(data)))
    try:
        report = checked(data)
    except FormatError as error:
        told = str(error)
    else:
        assert report.signature.state in ("invalid", "unsigned")
        told = " ".join([report.signature.detail, *(finding.path for finding in report.findings)])
    assert name in told, told
    return name


def test_a_member_that_was_added_is_reported():
    report = checked(packed(members(made()) | {"more.txt": b"Trust me"}))
    assert (report.signature.state, [finding.path for finding in report.findings]) == ("invalid", ["more.txt"])


def test_bytes_that_were_turned_in_the_file_itself_never_pass_for_what_was_signed():
    data = made()
    honest = members(data)
    for at in range(0, len(data), 7):
        turned = bytearray(data)
        turned[at] ^= 0x10
        try:
            report = checked(bytes(turned))
        except FormatError:
            continue
        # dates and versions in the headers of the zip say nothing: then all members are those that were signed
        assert report.signature.state != "valid" or members(bytes(turned)) == honest, at


def resealed(change: Callable[[dict[str, bytes]], None], signer: Signer = OURS) -> bytes:
    """A bundle with other contents, listed and signed as if they were right."""
    from vcon_app.signing import detached

    held = members(made())
    change(held)
    told = json.loads(held["manifest.json"])
    for row in told["members"]:
        row["size"], row["sha256"] = len(held[row["path"]]), hashlib.sha256(held[row["path"]]).hexdigest()
    told["original"]["sha256"] = hashlib.sha256(held["original/clock.jsonl"]).hexdigest()
    held["manifest.json"] = json.dumps(told).encode()
    held["manifest.jws"] = detached.sign(held["manifest.json"], signer).encode()
    return packed(held)


def audit_lines(held: dict[str, bytes]) -> list[dict]:
    return [json.loads(line) for line in held["audit.jsonl"].splitlines()]


def write_lines(held: dict[str, bytes], rows: list[dict]) -> None:
    held["audit.jsonl"] = b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def test_an_audit_record_whose_hash_does_not_hold_is_told_though_everything_is_signed():
    def change(held):
        rows = audit_lines(held)
        rows[1]["entry"] = rows[1]["entry"].replace("exported", "deleted!")
        write_lines(held, rows)

    report = checked(resealed(change))
    assert report.signature.state == "invalid"
    assert "audit.jsonl: line 2 (entry 4): its hash is not that of what it says" in report.signature.detail


def test_neighbours_in_the_audit_log_follow_each_other():
    def change(held):
        rows = audit_lines(held)
        other = entry(4, "2" * 64)
        rows[1] = {"seq": 4, "previous_hash": other.previous_hash, "hash": other.hash, "entry": other.entry}
        write_lines(held, [*rows, {"odd": 1}])

    messages = [finding.message for finding in checked(resealed(change)).findings]
    assert messages == [
        "line 2: entry 4 does not follow the hash of entry 3", "line 4 is no audit record",
        "it has 4 records, and the manifest says 3",
    ]  # fmt: skip


def test_an_original_that_no_record_knows_is_reported():
    def change(held):
        held["original/clock.jsonl"] = b"another file"

    report = checked(resealed(change))
    assert "not that of the document that the session was read from" in report.signature.detail


def test_a_vcon_whose_own_signature_is_broken_is_reported():
    def change(held):
        value = json.loads(held["session.vcon"])
        value["signatures"][0]["signature"] = value["signatures"][0]["signature"][::-1]
        held["session.vcon"] = json.dumps(value).encode()

    report = checked(resealed(change))
    assert "session.vcon: its own signature is invalid" in report.signature.detail


def test_a_signature_of_somebody_else_does_not_verify_with_ours():
    other = signer_of(private_pem(ed_key()).encode(), owner("Mallory", ed_key()).pem.encode())
    report = checked(resealed(lambda held: None, other))
    assert (report.signature.state, report.signature.signer) == ("valid_untrusted", "Mallory")


def test_a_vcon_too_large_for_memory_is_covered_by_the_manifest_alone(monkeypatch):
    monkeypatch.setattr(import_module("vcon_app.formats.bundle.verify"), "VCON_BYTES", 100)
    report = checked(made(unsigned_vcon="it is too large"))
    assert report.signature.state == "valid"
    assert "session.vcon: its own signature was not looked for (it is too large)" in report.facts
    assert "is not checked" in checked(made()).signature.detail


def hostile() -> Iterator[tuple[str, bytes, str]]:
    held = members(made())
    link = zipfile.ZipInfo("original/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    file = io.BytesIO(packed(held))
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    yield "link", file.getvalue(), "original/link"
    yield "traversal", packed(held | {"../../evil": b"x"}), "../../evil"
    file = io.BytesIO(packed(held))
    with zipfile.ZipFile(file, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("audit.jsonl", b"")
    yield "duplicate", file.getvalue(), "audit.jsonl"
    data = bytearray(packed(held))
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    yield "encrypted", bytes(data), "manifest.jws"
    yield "truncated", packed(held)[:-40], "damaged"
    yield "no manifest worth the name", packed(held | {"manifest.json": b"[]"}), "manifest.json"
    yield "large manifest", packed(held | {"manifest.json": b" " * 2_000_000}), "manifest.json"
    yield "newer", packed(held | {"manifest.json": b'{"format": "countersign-bundle", "version": 2}'}), "version 2"
    twice = json.loads(held["manifest.json"])
    twice["members"] *= 2
    yield "listed twice", packed(held | {"manifest.json": json.dumps(twice).encode()}), "each once"
    odd = {"format": "countersign-bundle", "version": 1, "members": [{"path": "x", "size": True, "sha256": "y"}]}
    yield "odd row", packed(held | {"manifest.json": json.dumps(odd).encode()}), "without path, size and SHA-256"


def test_archives_that_no_honest_tool_makes_are_refused_with_the_reason():
    for what, data, told in hostile():
        with pytest.raises(FormatError) as refused:
            checked(data)
        assert told in str(refused.value), what
        assert "\n" not in str(refused.value)


def test_a_bomb_is_known_by_its_size():
    archive = Archive(io.BytesIO(packed(members(made()) | {"zeros": bytes(50_000_000)})))
    with pytest.raises(FormatError, match="as only bombs do"):
        archive.check_size(10**12)


def test_an_original_that_packs_like_a_bomb_is_stored_as_it_is():
    rows = [entry(1, "0" * 64, "import.started", sha256=ZEROS)]
    data = made(original=original(data=bytes(5_000_000)), audit=rows, receipts=[])
    archive = Archive(io.BytesIO(data))
    archive.check_size(10**9)
    assert checked(data).signature.state == "valid"


ZEROS = hashlib.sha256(bytes(5_000_000)).hexdigest()


def test_a_member_may_be_larger_than_four_gigabytes_says_the_header():
    out = packing.Packing(AT)
    data = b"".join([*out.add("large", "x", [b"abc"], size=5 * 2**30), *out.finish()])
    assert struct.pack("<HH", 1, 16) in data[:80], "no field for sizes of 64 bits"
    assert zipfile.ZipFile(io.BytesIO(data)).read("large") == b"abc"


def test_the_same_parts_are_the_same_bytes():
    assert made() == made()


def test_a_large_original_is_never_held_in_memory():
    import tracemalloc

    block = bytes(range(256)) * 4096
    large = bundle.Original("large.bin", 64 * len(block), lambda: iter([block] * 64), "")
    tracemalloc.start()
    size = sum(len(piece) for piece in bundle.write(SESSION, EVENTS, Losses(), options=options(original=large)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size > 0 and peak < 8 * 1024 * 1024


def test_losses_are_those_of_the_vcon():
    ours, its = Losses(), Losses()
    b"".join(bundle.write(SESSION, EVENTS, ours, options=options()))
    b"".join(vcon.write(SESSION, EVENTS, its, options=options()))
    assert ours.rows() == its.rows()
    assert json.loads(members(made())["losses.json"])["items"] == ours.rows()


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("clock.jsonl", "clock.jsonl"), ("../../etc/passwd", "passwd"), ("a\\b.txt", "b.txt"), (".hidden", "hidden"),
        ("NUL.json", "_NUL.json"), ("Gespräch é.jsonl", "Gespräch é.jsonl"), ("a\u202egnp.exe", "a_gnp.exe"),
        ("", "original"), ("...", "original"), ("x" * 300 + ".jsonl", "x" * 94 + ".jsonl"),
        ("a:b|c?.txt", "a_b_c_.txt"),
        ("\x00\x1b[2J.txt", "___2J.txt"),
    ],
)  # fmt: skip
def test_the_name_of_the_original_is_safe_on_every_system(name, safe):
    assert layout.safe_name(name) == safe


def test_a_title_commands_no_terminal():
    text = layout.readme("A\x1b[2J\nB", "1", None, ())
    assert b"\x1b" not in text and text.startswith(b"A [2J B\n")


def test_only_the_first_of_very_many_faults_are_reported():
    lines = io.BytesIO(b"odd\n" * 100_000)
    assert len(audit_rows.faults(lines, 3, set())) == audit_rows.MOST
