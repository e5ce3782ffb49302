"""A call that sends a mail: its head and its body apart from whatever else it says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

HEAD = (
    ("From", ("from", "sender", "from_email", "from_address")),
    ("To", ("to", "recipient", "recipients", "to_addresses", "to_email")),
    ("Cc", ("cc",)),
    ("Bcc", ("bcc",)),
    ("Reply-To", ("reply_to", "replyTo", "reply-to")),
    ("Subject", ("subject", "title")),
)
BODY = ("body", "text", "message", "content", "html", "body_text", "html_body", "body_html")


@dataclass(frozen=True, slots=True)
class Mail:
    """``head`` is a list of names and texts, ``rest`` are the arguments that belong to neither."""

    head: list[tuple[str, str]]
    body: str
    rest: dict[str, Any]


def mail_of(arguments: Any) -> Mail | None:
    """The mail that a call would send: it has a recipient, a subject and a body, each as text. None for all others."""
    if not isinstance(arguments, dict):
        return None
    found = {name: next((key for key in keys if arguments.get(key)), None) for name, keys in HEAD}
    body = next((key for key in BODY if isinstance(arguments.get(key), str)), None)
    if not (found["To"] and found["Subject"] and body):
        return None
    head = [(name, _people(arguments[key])) for name, key in found.items() if key]
    if not all(text for _, text in head):
        return None
    used = {key for key in found.values() if key} | {body}
    return Mail(head, arguments[body], {key: value for key, value in arguments.items() if key not in used})


def _people(value: Any) -> str:
    """``a@b.example, C <c@d.example>``; empty where it is no text and no list of people."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        address = value.get("email") or value.get("address")
        name = value.get("name")
        return f"{name} <{address}>" if name and address else str(address or "")
    if isinstance(value, list):
        people = [_people(one) for one in value]
        return ", ".join(people) if all(people) else ""
    return ""
