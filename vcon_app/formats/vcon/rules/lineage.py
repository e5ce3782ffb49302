"""Other versions of a vCon (redacted, amended, group), and marks of text that was taken out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ....drafts import Json
from ..file import HASHES, Container, Elided, Notes, digest_of, dumps, point, shown
from ..trace import Step

_MARK = re.compile(r"__REDACTED_REF_\d+")
_HASH = re.compile(r"[a-z0-9_]+-[A-Za-z0-9_-]+")
_HEX = re.compile(r"[0-9A-Fa-f]+")


def check_lineage(vcon: Container, notes: Notes) -> None:
    """The rules about ``redacted`` and ``amended`` (core s4.1.8, s4.1.9), and the urls in them and in ``group``."""
    redacted, amended = vcon.top.get("redacted"), vcon.top.get("amended")
    if redacted and amended:
        notes.error(
            "R9",
            vcon.at("redacted"),
            "redacted and amended are both present; one vCon can be only one of them (core s4.1.8).",
        )
    for name, value in (("redacted", redacted), ("amended", amended)):
        if value and not isinstance(value, dict):
            notes.warn("R10", vcon.at(name), f"{name} is {shown(value)}, not an object (core s{_SECTIONS[name]}).")
    if isinstance(redacted, dict):
        _check_redacted(redacted, vcon.at("redacted"), notes)
    if isinstance(amended, dict):
        if not amended.get("uuid") and not amended.get("url"):
            notes.warn("R10", vcon.at("amended"), "amended names neither uuid nor url of what it amends (core s4.1.9).")
        _check_version(amended, "amended", vcon.at("amended"), notes)
    group = vcon.top.get("group")
    for index, part in enumerate(group if isinstance(group, list) else ()):
        if isinstance(part, dict):
            check_link(part, vcon.at("group", index), notes)


_SECTIONS = {"redacted": "4.1.8", "amended": "4.1.9"}


def _check_redacted(redacted: dict[str, Any], pointer: str, notes: Notes) -> None:
    if not redacted.get("type"):
        notes.warn("R10", pointer, "redacted does not say its type (core s4.1.8.1).")
    kind = f" ({shown(redacted['type'])})" if redacted.get("type") else ""
    before = f"vCon {shown(redacted['uuid'])}" if redacted.get("uuid") else "a vCon that it does not name"
    notes.info("R109", pointer, f"Parts were removed from this vCon{kind}; it is a redacted version of {before}.")
    _check_version(redacted, "redacted", pointer, notes)


def _check_version(value: dict[str, Any], name: str, pointer: str, notes: Notes) -> None:
    url = value.get("url")
    if not url:
        return
    if not value.get("content_hash"):
        notes.error(
            "R10",
            point(pointer, "url"),
            f"{name} points to a url without content_hash: what lies there cannot be checked "
            f"(core s{_SECTIONS[name]}).",
        )
    _check_url(url, pointer, notes)
    check_hash_form(value, "R10", pointer, notes)


def check_link(item: dict[str, Any], pointer: str, notes: Notes) -> None:
    """An external reference; it is checked as text and never fetched (rule R60)."""
    url = item.get("url")
    if not url:
        return
    if not item.get("content_hash"):
        notes.error(
            "R59", point(pointer, "url"), "A url without content_hash: what lies there cannot be checked (core s2.4)."
        )
    _check_url(url, pointer, notes)
    if item.get("body") not in (None, ""):
        notes.warn(
            "R59",
            point(pointer, "url"),
            f"Beside the body there is the url {shown(url)}; a vCon has one of the two (core s2.3). The body is shown.",
            "both",
        )


def _check_url(url: Json, pointer: str, notes: Notes) -> None:
    if isinstance(url, Elided):
        return
    if not isinstance(url, str) or not url.lower().startswith("https://"):
        notes.error("R59", point(pointer, "url"), f"The url {shown(url)} is not https (core s2.4); it was not fetched.")


def check_hash_form(item: dict[str, Any], rule: str, pointer: str, notes: Notes) -> None:
    """A hash that is not written as core s2.4.2 has it can be checked by nobody."""
    hashes = item.get("content_hash")
    for token in hashes if isinstance(hashes, list) else [hashes]:
        if token in (None, "", [], {}):
            continue
        if fault := _fault(token):
            notes.warn(
                rule,
                point(pointer, "content_hash"),
                f"content_hash {shown(token, 30)} cannot be checked: {fault}. Core s2.4.2 has an algorithm, a hyphen "
                "and the digest in base64url.",
                "hash form",
            )


def _fault(token: Json) -> str:
    """Why nobody can check a hash, ``""`` for one that can be, or whose algorithm is not known here."""
    if not isinstance(token, str) or not _HASH.fullmatch(token):
        return "it is not written as a hash"
    known = digest_of(token)
    if known is None or len(known[1]) == (size := HASHES[known[0]]().digest_size):
        return ""
    if len(token) == len(known[0]) + 1 + 2 * size and _HEX.fullmatch(token, len(known[0]) + 1):
        return "its digest is hexadecimal"
    return f"its digest has {len(known[1])} bytes, and one of {known[0]} has {size}"


def report_removed_text(steps: Iterable[Step], notes: Notes) -> None:
    """Marks of removed text are told; their absence proves nothing (rule R109)."""
    for step in steps if notes.marked else ():
        texts = (
            [step.text] if step.tool is None else [step.text, _as_text(step.tool.arguments), _as_text(step.tool.result)]
        )
        if mark := next((found for words in texts if (found := _MARK.search(words))), None):
            notes.info("R109", step.pointer, f"Something was removed here and marked {mark.group()}.", "mark")


def _as_text(value: Json) -> str:
    return dumps(value).decode() if value is not None else ""
