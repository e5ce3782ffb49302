"""A prompt as a title: the first sentence of the task, without what a recorder or a harness put around it."""

from __future__ import annotations

import re
from itertools import pairwise

from .text import first_line, unmarked
from .unescape import unescaped

LOOKED_AT = 16_000
"""Characters of a prompt: what is asked may stand behind long instructions."""
DEEPEST = 40
"""What is taken off of one prompt, and sentences of one role: each of a thousand files before it would be looked for in
all the rest, 0.5 s."""
_TASK = re.compile(
    r"<(task|issue|issue_description|pr_description|problem_statement|user_query|user_request|query|request|question|goal|"
    r"objective|prompt)>\s*(?=\S)"
    r"(?P<said>.*?)(?:</\1>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_AROUND = (
    r"(?:[a-z]{1,20}[-_]){0,3}(?:context|instructions|details|reminder|caveat|selection)|system|permissions|"
    r"ide_\w{1,40}|local-command-\w{1,40}|additional_data|(?:attached|uploaded)_files|command-message|attachments?|files?|"
    r"documents?|rules|info|env"
)
_SECTION = re.compile(rf"\s*<({_AROUND})(?:\s[^<>]{{0,200}})?>.*?(?:</\1>\s*|\Z)", re.IGNORECASE | re.DOTALL)
_NUMBER = r"[ \t]*(?:#{1,6}[ \t]*)?(?:\d{1,2}[ \t]*[.)•:-]?[ \t]*)?(?:\*\*)?"
_OF_CONTEXT = re.compile(
    rf"{_NUMBER}(?:context|background|environment|metadata|repository)\b[^\n]{{0,10}}$", re.IGNORECASE | re.MULTILINE
)
_OF_GOAL = re.compile(
    rf"^{_NUMBER}(?:your )?(?:goals?|task|objectives?|request|question|what to do)(?:\*\*)?:?(?:\*\*)?[ \t]*$\s*"
    r"(?:[^\w\s]+[ \t]*\n\s*)*",
    re.IGNORECASE | re.MULTILINE,
)
"""Headings of a prompt that is written in parts."""
BEFORE_ISSUE = 600
"""Characters in which SWE-agent comes to its word; the pattern below is tried where it stands there."""
_ISSUE = re.compile(
    r"\A(?:[^<>]{0,400}?^ISSUE:[ \t]*\n|We're currently solving the following issue [^<>]{0,120}?\bISSUE:)\s*(?=\S)",
    re.MULTILINE,
)
"""What SWE-agent says before the issue that is to be solved, also as the title of a session, which is one line."""
_ROLE = re.compile(r"\s*(?:You are|You're|Act as|I want you to act as)\s+(?:now\s+)?an?\b", re.IGNORECASE)
"""Begins a prompt that says first who is to answer, and then what is asked."""
_OF_ROLE = re.compile(
    r"\s*(?:You|Act|I want you to act)\b"
    r"(?![^.!?\n]{0,400}(?::|\b(?:task(?:s|ed)?|assigned|missions?|jobs?|goals?|objectives?|please)\b))"
    r"(?:[^.!?\n]|[.!?](?!\s)){0,400}(?:[.!?](?=\s)|(?=\n))",
    re.IGNORECASE,
)
"""A sentence of it. One that names the task in the same breath is what is asked."""
_TAG = re.compile(r"</?[a-z][\w-]{0,40}(?:\s[^<>]{0,200})?/?>", re.IGNORECASE)
_CUT_TAG = re.compile(r"<[^<>]{0,60}$")
_MARKUP = re.compile(r"^(?:#{1,6}|[-*>]|\d{1,2}[.)])\s+")
_ITEM = re.compile(r"^\s*(?:[-*]\s+)?")
"""Before the text of a list's first item."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'“])")
SHORTEST = 24
"""Characters of a sentence that is a title by itself: ``Hi.`` is none."""


def title_of_prompt(prompt: str, limit: int = 120) -> str:
    """The first sentence that says what was asked, on one line, without marks of Markdown, at most ``limit`` characters
    long; see ``asked_in``."""
    head = prompt[:LOOKED_AT]
    if not _is_wrapped(head):
        return unmarked(first_line(head, limit))
    return unmarked(_sentence(asked_in(head), limit))


def asked_in(prompt: str) -> str:
    """What is asked in the first ``LOOKED_AT`` characters of a prompt, without what a recorder or a program put around
    it: JSON twice, ``<task>``, sections like ``<system>`` and ``<context>`` before it, who is to answer, and of a task
    in parts the one of the context. All of it where nothing else would be left.
    """
    rest = prompt[:LOOKED_AT]
    for _ in range(DEEPEST):
        if (inner := _unwrapped(rest)) == rest:
            break
        rest = inner
    return rest


def begins_wrapped(prompt: str) -> bool:
    """Whether something may stand before what is asked: by the first character, who is to answer, or in the way of
    SWE-agent."""
    if prompt.lstrip()[:1] in ("<", '"') or _ROLE.match(prompt):
        return True
    return "ISSUE:" in prompt[:BEFORE_ISSUE] and _ISSUE.match(prompt) is not None


def _is_wrapped(head: str) -> bool:
    """Whether there is anything to unwrap: most prompts are shown as they begin."""
    is_long = len(head.lstrip().partition("\n")[0]) > 200
    return begins_wrapped(head) or "\\n" in head or is_long


def _unwrapped(text: str) -> str:
    """A text without the outermost of what is around it; itself where nothing is."""
    if meant := unescaped(text):
        return meant
    if (task := _TASK.search(text)) and _says_more(task["said"]):
        return task["said"]
    if section := _SECTION.match(text):
        rest = text[section.end() :]
        return rest if _says_more(rest) else text
    if issue := _ISSUE.match(text):
        return text[issue.end() :]
    if asked := _behind_role(text):
        return asked
    first = next(filter(_says, text.split("\n", 8)[:8]), "")
    goal = _OF_GOAL.search(text) if _OF_CONTEXT.match(first) else None
    return _MARKUP.sub("", text[goal.end() :]) if goal and _says_more(text[goal.end() :]) else text


def _behind_role(text: str) -> str:
    """What follows where a prompt says first who is to answer; empty where it does not, or says nothing else."""
    end = 0
    for _ in range(DEEPEST if _ROLE.match(text) else 0):
        if (said := _OF_ROLE.match(text, end)) is None:
            break
        end = said.end()
    return _ITEM.sub("", text[end:]) if end and _says_more(text[end:]) else ""


def _says_more(rest: str) -> bool:
    return _says(_TAG.sub("", _CUT_TAG.sub("", rest)))


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
