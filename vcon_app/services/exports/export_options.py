"""What may be asked for when a session is exported: a format, its options, a signature, and who alone can read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

from sessions_app.models import Session
from vcon_app import registry
from vcon_app.drafts import Option
from vcon_app.formats.contract import EncryptingWriter, Format, SigningWriter
from vcon_app.queries import sources
from vcon_app.signing.jwe import MOST_RECIPIENTS
from vcon_app.signing.keys import Anchor, BadKey, fingerprint
from vcon_app.signing.signers import Signer

from ..trust import own_keys, recipients
from .sub_agents import descendants_of

ORIGINAL = "original"
"""Not a format: the file that the session was read from, to the byte."""
FORMS = ("signed", "encrypt_for")
"""What is chosen besides the options of the format: it says nothing of the content, only how it is wrapped."""
SIGNED = Option("signed", "Signed by us")
SWITCH_VALUES = {
    "true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False,
}  # fmt: skip


class CannotExport(ValueError):
    """This session has no such export; the message says why and what there is. ``parameter`` is what is wrong."""

    def __init__(self, message: str, parameter: str = "format") -> None:
        super().__init__(message)
        self.parameter = parameter


def formats_of(session: Session) -> list[str]:
    """Names of the formats that this session can be exported to, the original first where there is one."""
    original = [ORIGINAL] if sources.original_of(session) else []
    return original + sorted(registry.writers())


def media_types(format: str) -> tuple[str, ...]:
    """What its files may be served as; the first when nobody asks for another."""
    if format == ORIGINAL:
        return ("application/octet-stream",)
    spec = registry.writer(format).SPEC
    return (spec.media_type, *spec.also_served_as)


def format_names() -> list[str]:
    """Names of the formats of export."""
    return [ORIGINAL, *sorted(registry.writers())]


def every_media_type() -> dict[str, dict[str, Any]]:
    """Media types of all exports, as an OpenAPI document lists the contents of an answer."""
    return {type_: {} for format in format_names() for type_ in media_types(format)}


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


def signed_formats() -> list[str]:
    """Names of the formats that can be signed here: those that have a signed form, if there is a key for it."""
    try:
        ours = own_keys.signer()
    except (BadKey, OSError):
        return []
    return [name for name, format in sorted(registry.writers().items()) if _can_sign(format, ours)]


def encrypting_formats() -> list[str]:
    """Names of the formats that have an encrypted form."""
    return [name for name, format in sorted(registry.writers().items()) if isinstance(format, EncryptingWriter)]


def goes_on(session: Session) -> bool:
    """Is something still being added to the session?"""
    return session.phase == Session.Phase.ACTIVE or session.status == Session.Status.RUNNING


def chosen_options(session: Session, format: str, asked: Mapping[str, Any] | None) -> dict[str, Any]:
    """The options that are not the default, when this session can be exported with them. Raises ``CannotExport``."""
    writer = registry.writers().get(format)
    if writer is None and (format != ORIGINAL or sources.original_of(session) is None):
        if format == ORIGINAL:
            raise CannotExport("this session was not imported from a file, so there is no original")
        raise CannotExport(f'"{format}" is not an export format; use one of {", ".join(formats_of(session))}')
    asked = dict(asked or {})
    if writer and writer.SPEC.always_signed:
        asked.pop("signed", None)
        _usable_signer()
    chosen = without_defaults(format, asked)
    if chosen.get("signed"):
        _check_signing(session, format, children=bool(chosen.get("children")))
    return chosen


def without_defaults(format: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What of ``asked`` is not the default, as it is kept with the export. Raises ``CannotExport``.

    ``asked``: ``encrypt_for`` (anchors), ``signed`` and options of the format, each as text or bool.
    """
    known = {option.name: option for option in options_of(format)}
    for name in asked.keys() - known.keys() - {*FORMS}:
        there = f"it has {', '.join(known)}" if known else "it has none"
        raise CannotExport(f'"{format}" has no option "{name[:40]}"; {there}', name)
    chosen = {name: _value(known[name], asked[name]) for name in known if name in asked}
    kept = {name: value for name, value in chosen.items() if value != default(known[name])}
    signed = _value(SIGNED, asked.get("signed", False))
    if people := asked.get("encrypt_for"):
        if "signed" in asked and not signed:
            raise CannotExport("what is encrypted is signed first (core s5.3); leave out signed=false", "signed")
        return {**kept, "signed": True, "encrypt_for": _recipients(format, people)}
    return {**kept, "signed": True} if signed else kept


def with_defaults(format: str, kept: Mapping[str, Any]) -> dict[str, Any]:
    """What the writer is given: every option of the format, with the default of those that were not chosen."""
    return {option.name: kept.get(option.name, default(option)) for option in options_of(format)}


def default(option: Option) -> str | bool:
    return option.choices[0][0] if option.choices else False


def public_keys(kept: Mapping[str, Any]) -> list[RSAPublicKey]:
    """The keys that an export is encrypted for."""
    # the choice was checked when it was made: RSA-OAEP is for no other keys (RFC 7518 s4.3)
    return [cast(RSAPublicKey, load_pem_public_key(one["key"].encode())) for one in kept.get("encrypt_for", ())]


def _can_sign(format: Format, ours: Signer) -> bool:
    return isinstance(format, SigningWriter) and format.signs_with(ours)


def _usable_signer() -> Signer:
    try:
        return own_keys.signer()
    except (BadKey, OSError) as error:
        raise CannotExport(f"the key that exports are signed with cannot be used: {error}", "signed") from None


def _check_signing(session: Session, format: str, *, children: bool) -> None:
    """Only what has ended is signed (draft-birkholz-verifiable-agent-conversations s6.1)."""
    ours = _usable_signer()
    if format == ORIGINAL or not _can_sign(registry.get(format), ours):
        names = ", ".join(signed_formats()) or "none"
        raise CannotExport(
            f"{format} has no signed form for a key with {ours.algorithm}; these have: {names}", "signed"
        )
    if goes_on(session) or (children and any(map(goes_on, descendants_of(session)))):
        raise CannotExport("this session still goes on; it can be signed when it has ended", "signed")


def _recipients(format: str, people: Sequence[Anchor]) -> list[dict[str, str]]:
    """Those to encrypt for, each key once, as the export keeps them: an anchor may be removed before it is written."""
    if format not in encrypting_formats():
        there = ", ".join(encrypting_formats())
        raise CannotExport(f"{format} has no encrypted form; these have: {there}", "encrypt_for")
    if len(people) > MOST_RECIPIENTS:
        raise CannotExport(f"{len(people)} recipients are too many; {MOST_RECIPIENTS} is the limit", "encrypt_for")
    for anchor in people:
        if reason := recipients.reason_against(anchor):
            raise CannotExport(f'nothing can be encrypted for "{anchor.title}": {reason}', "encrypt_for")
    by_key = {fingerprint(anchor.key): anchor for anchor in people}
    return [{"name": one.title, "fingerprint": digest, "key": _pem(one)} for digest, one in by_key.items()]


def _pem(anchor: Anchor) -> str:
    return anchor.key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def _value(option: Option, asked: Any) -> str | bool:
    if option.choices:
        values = [value for value, _ in option.choices]
        if asked in values:
            return asked
        raise CannotExport(f'{option.name} is "{str(asked)[:40]}"; it is one of {", ".join(values)}', option.name)
    value = asked if isinstance(asked, bool) else SWITCH_VALUES.get(str(asked).lower())
    if value is None:
        raise CannotExport(f'{option.name} is "{str(asked)[:40]}"; it is true or false', option.name)
    return value
