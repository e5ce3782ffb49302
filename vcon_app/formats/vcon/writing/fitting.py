"""Items of a file, as core-04 allows them: what does not fit is written otherwise, set aside in ``meta``, and told.

``file.as_found`` puts it back when the vCon is read here again. With the option ``faithful`` nothing is changed.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterator
from typing import Any

from ....drafts import Json, Losses
from ...common.times import moment_of, rfc3339_short
from ...common.values import text_of
from ..file import (
    ELIDED,
    EMPTY,
    ENCODINGS,
    LONG_STRING,
    Notes,
    decode_base64,
    dumps,
    mediatype,
    resolve,
    set_aside,
    shown,
)
from ..rules import DIALOG_REFS, FORBIDDEN, PARTY_REFS
from ..trace import indices
from .plan import Plan
from .schema import is_date, misfits

SINGLE = ("transfer_target", "original", "consultation", "target_dialog")
"""References of a transfer that were arrays until core-03 (s4.3.13)."""
NAMES = {"parties": "party", "dialog": "dialog", "analysis": "analysis", "attachments": "attachment"}
_KEPT_IN_META = "core-04 does not allow it there; as it came it stands in meta, which is read here again"
_MEDIA = ("audio", "video")


class Fitting:
    """One item on its way out: ``item`` as it will be written, ``found`` as it came where that differs."""

    def __init__(self, item: dict[str, Json], array: str, plan: Plan, losses: Losses) -> None:
        self.item, self.array, self.plan, self.losses = dict(item), array, plan, losses
        self.found: dict[str, Json] = {}
        self.what = NAMES[array]

    def replace(self, name: str, value: Json) -> None:
        """Another value; None leaves the member out."""
        self.found.setdefault(name, self.item.get(name))
        if value is None:
            self.item.pop(name, None)
        else:
            self.item[name] = value

    def finished(self) -> dict[str, Json]:
        """The item, with what is set aside."""
        self.item = {name: value for name, value in self.item.items() if value is not None}
        for name in misfits(self.item, self.array):
            if self.item[name] not in EMPTY:
                self._tell(name)
                self.replace(name, None)
            else:
                del self.item[name]
        if self.array == "dialog":
            self._complete_dialog()
        if "url" in self.item and "content_hash" not in self.item and self.array != "parties":
            self.losses.lose(f"url of a {self.what} without content_hash", _KEPT_IN_META)
            self.replace("url", None)
        return set_aside(self.item, self.found)

    def _tell(self, name: str) -> None:
        self.losses.lose(f"{name} of a {self.what}: {shown(self.item[name], 30)}", _KEPT_IN_META)

    # --- times and references ---

    def mend_time(self) -> None:
        """A start without zone is written as it was read; one that is no time is left out."""
        stated = self.item.get("start")
        if stated is None or is_date(stated):
            return
        at, fault, _ = moment_of(stated)
        if stated not in EMPTY:
            what = "without zone" if fault == "zone" else "that is no RFC 3339 time"
            self.losses.lose(f"start {what}", "written in UTC" if at else "left out")
        self.replace("start", rfc3339_short(at) if at else None)

    def repair(self, name: str, length: int) -> None:
        """References must be in range (core s2.2); what points nowhere cannot be written."""
        value = self.item.get(name)
        if value is None:
            return
        wrong = [one for one in _flattened(value) if one is not None and not (type(one) is int and 0 <= one < length)]
        if not wrong:
            return
        self.losses.lose(f"{name} index {wrong[0]!r}", "it is no valid index", len(wrong))
        valid: list[Json] = [*indices(value, length)]
        before = self.found.get(name)
        self.replace(name, valid if isinstance(value, list) else valid[0] if valid else None)
        if name in DIALOG_REFS and before is None:
            del self.found[name]  # dialogs get other numbers where some are left out

    def repair_dialog_references(self) -> None:
        for name in PARTY_REFS:
            self.repair(name, len(self.plan.parties))
        for name in DIALOG_REFS:
            self.repair(name, self.plan.record.get("dialogs", 0))
            if name in self.item:
                self.item[name] = moved(self.item[name], self.plan)
        for name in SINGLE:
            value = self.item.get(name)
            if isinstance(value, list) and len(value) == 1:
                self.item[name] = value[0]

    # --- what a dialog of a type must have and must not ---

    def _complete_dialog(self) -> None:
        if "type" not in self.item:
            self.replace("type", self._nearest_type())
        kind = text_of(self.item["type"])
        for name in sorted(FORBIDDEN[kind] & self.item.keys()):
            if self.item[name] not in EMPTY:
                self.losses.lose(f"{name} on a dialog of type {kind}", f"forbidden (s4.3.1.6): {_KEPT_IN_META}")
            self.replace(name, None)
        if kind == "incomplete" and "disposition" not in self.item:
            self.replace("disposition", "failed")  # for reasons that have no word (core s4.3.10)
        if kind == "recording-set" and "recordings" not in self.item:
            self.replace("recordings", [])

    def _nearest_type(self) -> str:
        """What a dialog of an unknown type is most like."""
        is_media = mediatype(self.item).partition("/")[0] in _MEDIA or self.item.get("encoding") == "base64url"
        return "recording" if is_media or self.item.get("url") else "text"

    # --- content ---

    def mend_content(self) -> None:
        """Encoding and media type on everything inline (core s2.3.2, s4.3.8); placeholders stay as they are."""
        body = self.item.get("body")
        if isinstance(body, dict) and ELIDED in body:
            why = f"larger than {LONG_STRING:,} bytes: it is in the original file only"
            self.losses.lose(f"body of a {self.what}", why)
            self.item = {name: value for name, value in self.item.items() if name not in ("body", "encoding")}
            return
        if body is None:
            return
        before = self.item.get("encoding"), self.item.get("mediatype")
        if not isinstance(body, str):
            self._change("encoding", "json")
        else:
            self._mend_text(body)
        if not isinstance(self.item.get("mediatype"), str) or not self.item["mediatype"]:
            self._change("mediatype", _mediatype(self.item))
        if (self.item["encoding"], self.item["mediatype"]) != before:
            why = "was missing or not as core-04 has it; written as it was read"
            self.losses.lose(f"encoding or media type of a {self.what}", why)
        if not isinstance(body, str) and self.plan.options.get("bodies") == "string":
            self.item["body"] = dumps(body).decode()
            for name in ("encoding", "mediatype"):  # they say now that the text is JSON
                self.found.pop(name, None)

    def _change(self, name: str, value: Json) -> None:
        if self.item.get(name) != value:
            self.replace(name, value)

    def _mend_text(self, body: str) -> None:
        """A string body under the encoding it was read with."""
        stated = self.item.get("encoding")
        kind = resolve(self.item, "", Notes()).kind
        if kind == "bytes" or stated in ("base64url", "base64"):
            self._mend_base64(body)
        elif stated not in ENCODINGS:
            self._change("encoding", "none")

    def _mend_base64(self, body: str) -> None:
        try:
            data, canonical = decode_base64(body)
        except ValueError:
            self._change("encoding", "none")
            return
        if canonical and self.item.get("encoding", "base64url") == "base64url":
            self._change("encoding", "base64url")
            return
        self.losses.lose("standard or padded base64", "written as base64url (RFC 7515 s2)")
        self._change("encoding", "base64url")
        self.item["body"] = encode_base64(data)


def fitted_party(item: dict[str, Json], plan: Plan, losses: Losses) -> dict[str, Json]:
    """A party whose members are of the types that core has (s4.2)."""
    return item if plan.options.get("faithful") else Fitting(item, "parties", plan, losses).finished()


def moved(value: Json, plan: Plan) -> Json:
    """Dialog indices as they are in the new file."""
    if isinstance(value, list):
        return [moved(part, plan) for part in value]
    return plan.new_index(value) if type(value) is int and plan.dialogs else value


def encode_base64(data: bytes) -> str:
    """base64url without padding (RFC 7515 s2)."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _mediatype(item: dict[str, Any]) -> str:
    if item["encoding"] == "base64url":
        return "application/octet-stream"
    return "application/json" if item["encoding"] == "json" and not isinstance(item["body"], str) else "text/plain"


def _flattened(value: Json) -> Iterator[Json]:
    for part in value if isinstance(value, list) else [value]:
        yield from part if isinstance(part, list) else [part]
