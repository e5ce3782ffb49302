"""What may be chosen for an export: a signature, who alone can read it, and what its format declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

from vcon_app import registry
from vcon_app.drafts import Option
from vcon_app.formats.contract import EncryptingWriter
from vcon_app.signing.jwe import MOST
from vcon_app.signing.keys import Anchor, fingerprint

from ..trust import recipients

FORMS = ("signed", "encrypt_for")
"""What is chosen besides the options of the format: it says nothing of the content, only how it is wrapped."""
SIGNED = Option("signed", "Signed by us")
SWITCH = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


class CannotExport(ValueError):
    """This session has no such export; the message says why and what there is. ``parameter`` is what is wrong."""

    def __init__(self, message: str, parameter: str = "format") -> None:
        super().__init__(message)
        self.parameter = parameter


def options_of(format: str) -> tuple[Option, ...]:
    """The choices that a format leaves; none for what is not written by one (``original``)."""
    writer = registry.writers().get(format)
    return writer.SPEC.options if writer else ()


def all_options() -> dict[str, list[tuple[str, Option]]]:
    """Name -> the formats that have an option of that name, with it."""
    found: dict[str, list[tuple[str, Option]]] = {}
    for format in registry.writers():
        for option in options_of(format):
            found.setdefault(option.name, []).append((format, option))
    return dict(sorted(found.items()))


def settled(format: str, said: Mapping[str, Any]) -> dict[str, Any]:
    """What of ``said`` is not the default, as it is kept with the export. Raises ``CannotExport``.

    ``said``: ``encrypt_for`` (anchors), ``signed`` and options of the format, each as text or bool.
    """
    known = {option.name: option for option in options_of(format)}
    for name in said.keys() - known.keys() - {*FORMS}:
        raise CannotExport(f'"{format}" has no option "{name[:40]}"; {_known(known)}', name)
    chosen = {name: _value(known[name], said[name]) for name in known if name in said}
    kept = {name: value for name, value in chosen.items() if value != default(known[name])}
    signed = _value(SIGNED, said.get("signed", False))
    if people := said.get("encrypt_for"):
        if "signed" in said and not signed:
            raise CannotExport("what is encrypted is signed first (core s5.3); leave out signed=false", "signed")
        return {**kept, "signed": True, "encrypt_for": _recipients(format, people)}
    return {**kept, "signed": True} if signed else kept


def full(format: str, kept: Mapping[str, Any]) -> dict[str, Any]:
    """What the writer is given: every option of the format, with the default of those that were not chosen."""
    return {option.name: kept.get(option.name, default(option)) for option in options_of(format)}


def default(option: Option) -> str | bool:
    return option.choices[0][0] if option.choices else False


def public_keys(kept: Mapping[str, Any]) -> list[RSAPublicKey]:
    """The keys that an export is encrypted for."""
    return [load_pem_public_key(one["key"].encode()) for one in kept.get("encrypt_for", ())]


def encrypting_formats() -> list[str]:
    """Names of the formats that have an encrypted form."""
    return [name for name, format in sorted(registry.writers().items()) if isinstance(format, EncryptingWriter)]


def _recipients(format: str, people: Sequence[Anchor]) -> list[dict[str, str]]:
    if format not in encrypting_formats():
        there = ", ".join(encrypting_formats())
        raise CannotExport(f"{format} has no encrypted form; these have: {there}", "encrypt_for")
    if len(people) > MOST:
        raise CannotExport(f"{len(people)} recipients are too many; {MOST} is the limit", "encrypt_for")
    for anchor in people:
        if reason := recipients.reason_against(anchor):
            raise CannotExport(f'nothing can be encrypted for "{anchor.title}": {reason}', "encrypt_for")
    found = {fingerprint(anchor.key): anchor for anchor in people}
    return [{"name": anchor.title, "fingerprint": print_, "key": _pem(anchor)} for print_, anchor in found.items()]


def _pem(anchor: Anchor) -> str:
    return anchor.key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def _value(option: Option, said: Any) -> str | bool:
    if option.choices:
        values = [value for value, _ in option.choices]
        if said in values:
            return said
        raise CannotExport(f'{option.name} is "{str(said)[:40]}"; it is one of {", ".join(values)}', option.name)
    value = said if isinstance(said, bool) else SWITCH.get(str(said).lower())
    if value is None:
        raise CannotExport(f'{option.name} is "{str(said)[:40]}"; it is true or false', option.name)
    return value


def _known(known: Mapping[str, Option]) -> str:
    return f"it has {', '.join(known)}" if known else "it has none"
