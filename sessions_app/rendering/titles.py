"""A prompt as a title: the first sentence of the task, without what a recorder or a harness put around it."""

from __future__ import annotations

import re
from itertools import pairwise

from .text import first_line, unmarked
from .unescape import unescaped

LOOKED_AT = 8_000
_TASK = re.compile(r"<(task|user_query|user_request|instructions?|question|objective)>\s*(?=\S)", re.IGNORECASE)
_AROUND = (
    "(?:[a-z]{1,20}[-_])?context|system|system[-_]reminder|environment[-_]details|user[-_]instructions|permissions|"
    "local-command-caveat|local-command-stdout|ide_opened_file|ide_selection|additional_data|attached_files|"
    "command-message|rules|info|env"
)
_SECTION = re.compile(rf"\s*<({_AROUND})(?:\s[^<>]{{0,200}})?>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"</?[a-z][\w-]{0,40}(?:\s[^<>]{0,200})?/?>", re.IGNORECASE)
_CUT_TAG = re.compile(r"<[^<>]{0,60}$")
_MARKUP = re.compile(r"^(?:#{1,6}|[-*>]|\d{1,2}[.)])\s+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'“])")
SHORTEST = 24
"""Characters of a sentence that is a title by itself: ``Hi.`` is none."""


def title_of_prompt(prompt: str, limit: int = 120) -> str:
    """The first sentence that says what was asked, on one line, without marks of Markdown, at most ``limit`` characters
    long.

    ``<task>`` goes before everything else; sections like ``<system>`` and ``<context>`` are left out where something
    follows them.
    """
    head = prompt[:LOOKED_AT]
    if not _is_wrapped(head):
        return unmarked(first_line(head, limit))
    text = unescaped(head) or head
    return unmarked(_sentence(_task(text), limit))


def _is_wrapped(head: str) -> bool:
    """Whether there is anything to unwrap: most prompts are shown as they begin."""
    return head.lstrip()[:1] in ("<", '"') or "\\n" in head or len(head.lstrip().partition("\n")[0]) > 200


def _task(text: str) -> str:
    if match := _TASK.search(text):
        return text[match.end() :]
    rest, before = text, ""
    while rest != before:
        rest, before = _SECTION.sub("", rest, count=1) if _SECTION.match(rest) else rest, rest
    return rest if _says(_CUT_TAG.sub("", rest)) else text


def _sentence(text: str, limit: int) -> str:
    lines = [line.strip() for line in _TAG.sub(" ", text).split("\n") if line.strip()]
    said = (line for line, below in pairwise([*lines, ""]) if _says(line) and not _is_heading(line, below))
    line = _MARKUP.sub("", next(said, "") or next(filter(_says, lines), ""))
    first = _SENTENCE.split(line, maxsplit=1)[0]
    return first_line(first if len(first) >= SHORTEST else line, limit) or first_line(text, limit)


def _says(line: str) -> bool:
    return any(character.isalnum() for character in line)


def _is_heading(line: str, below: str) -> bool:
    """``# Context``, or a line that is underlined."""
    return line.startswith("#") or (len(below) > 2 and not _says(below))
