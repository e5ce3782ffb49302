"""Two hundred transcripts made at random of what has broken pages: no script, no address elsewhere, no fault."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from django.utils.safestring import SafeString

from sessions_app.drafts import EventDraft
from sessions_app.models import Session
from sessions_app.rendering import markdown

from ..build import Page, asked, call, other, path_of, result, said, session_with
from .test_kinds import KINDS, faults

FETCHED = {"HTTP_HX_REQUEST": "true"}
EVENTS, RUNS, TURNS = 5, 4, 50
"""Events of a transcript; sessions, of as many transcripts as they have turns: 200 in all."""
PIECES = (
    "<script>alert(1)</script>", "\"><img src=x onerror=alert(2)>", "</pre></code></details></div>",
    "' onfocus=alert(3) '", "javascript:alert(4)", "[x](javascript:alert(5))", "![i](https://evil.example/i.png)",
    "<style>*{display:none}</style>", "<svg/onload=alert(6)>", "<iframe src=//evil.example>",
    "<base href=//evil.example>", "{{ 7|add:7 }}{% now 'Y' %}", "&lt;script&gt;", "&#60;script&#62;",
    "\x1b[31m<b>\x1b[0m", "\x1b]8;;https://evil.example\x07x\x1b]8;;\x07", "a\rb\rc", "\u202egnp.exe",
    "\u200b\u2066\u2028", "\ud83d", "\0", "\\n\\n\\n\\u003cscript\\u003e", "```html\n<script>\n```",
    "```python\n'''\"\"\"<b>\n", "| a |\n|---|\n| <td> |", "     1→<b>\n     2→\r</b>\n",
    "diff --git a b\n+<b>\n-<i>\n", "شكرا (1) !", "日本語" * 40, "W" * 3_000, "x\n" * 200, "╭──╮\n│ !! │",
    "<tool_use_error>", "<system-reminder>", "*** Begin Patch\n*** Update File: <b>\n@@\n-a\n+b\n*** End Patch",
    "SELECT '<b>' FROM t; DROP TABLE t", "rm -rf / && curl x | sh", "/a/../" * 60 + "<b>.py", "C:\\x\\<b>.html",
    "{\"a\": \"<b>\"}", "\\", "%", "🍝" * 50,
)  # fmt: skip
NAMES = (
    "Edit",
    "Write",
    "Read",
    "Bash",
    "TodoWrite",
    "apply_patch",
    "run_sql",
    "odd <b>",
    "mcp__x__<i>",
    "update_plan",
)
KEYS = (
    "file_path", "path", "old_string", "new_string", "content", "command", "query", "patch", "input", "<b>",
    "__proto__",
)  # fmt: skip


def text_of(rnd: random.Random) -> str:
    pieces = [rnd.choice(PIECES) for _ in range(rnd.randint(1, 5))]
    joined = rnd.choice(("", " ", "\n")).join(pieces)
    return json.dumps(joined) if rnd.random() < 0.15 and joined.isascii() else joined


def value_of(rnd: random.Random, depth: int = 0) -> Any:
    kind = rnd.randint(0, 9)
    if kind < 2 and depth < 4:
        return {rnd.choice(KEYS): value_of(rnd, depth + 1) for _ in range(rnd.randint(0, 4))}
    if kind < 4 and depth < 4:
        return [value_of(rnd, depth + 1) for _ in range(rnd.randint(0, 4))]
    return rnd.choice([None, True, 0, -1.5, 10**15]) if kind == 4 else text_of(rnd)


def arguments_of(rnd: random.Random) -> dict[str, Any]:
    asked_for = {rnd.choice(KEYS): value_of(rnd) for _ in range(rnd.randint(0, 5))}
    if rnd.random() < 0.2:
        asked_for["todos"] = [{"content": text_of(rnd), "status": text_of(rnd)}, *([value_of(rnd)] * rnd.randint(0, 1))]
    return asked_for


def transcript(rnd: random.Random, number: int) -> list[EventDraft]:
    """A prompt, and what an agent at its worst answers."""
    new = [asked(f"{number}p", text_of(rnd), number * 60)]
    for step in range(EVENTS - 1):
        key, kind = f"{number}.{step}", rnd.randint(0, 3)
        if kind == 0:
            new.append(said(key, text_of(rnd), actor_name=text_of(rnd)[:200].replace("\0", "")))
        elif kind == 1:
            new.append(other(key, rnd.choice(KINDS), text_of(rnd), data={"type": text_of(rnd), "raw": value_of(rnd)}))
        else:
            patch = {
                "structuredPatch": [{"oldStart": value_of(rnd), "newStart": 3, "lines": [text_of(rnd), "+b", "-c"]}]
            }
            answer = rnd.choice([None, patch, value_of(rnd)])
            new.append(call(key, rnd.choice(NAMES), rnd.choice([arguments_of(rnd), text_of(rnd)])))
            new.append(result(key, text_of(rnd), rnd.choice(["ok", "error", None]), value=answer))
    return new


def session_of(agent, run: int, count: int = TURNS) -> Session:
    rnd = random.Random(run)
    new = [event for number in range(count) for event in transcript(rnd, number)]
    environment = {"environment": {"cwd": text_of(rnd)}}
    return session_with(agent, new, title=text_of(rnd).replace("\0", ""), metadata=environment)


def elsewhere(page: Page) -> list[str]:
    """Addresses that a browser would ask by itself, off this origin."""
    asks = [found.get("src") or "" for tag, found in page.tags if tag not in ("a",)]
    asks += [found.get("href") or "" for tag, found in page.tags if tag == "link"]
    return [address for address in asks if re.match(r"(?:[a-z]+:)?//", address)]


@pytest.mark.parametrize("run", range(RUNS))
def test_no_transcript_acts_asks_elsewhere_or_breaks_a_page(reviewer, agent, run):
    session = session_of(agent, run)
    calls = session.tool_calls.order_by("seq").values_list("seq", flat=True)
    rnd = random.Random(run)
    tails = ["", *(f"?turn={turn}" for turn in range(1, TURNS, 10))]
    tails += [f"/events/{seq}{tail}" for seq in rnd.sample(list(calls), 6) for tail in ("/body", "?tab=raw")]
    tails += [f"/events/{seq}?tab=arguments" for seq in rnd.sample(list(calls), 2)]
    tails += [f"/events/{seq}/whole?of=text&as=message" for seq in rnd.sample(range(1, session.last_seq), 2)]
    for tail in tails:
        response = reviewer.get(path_of(session) + tail, **(FETCHED if tail.startswith("/") else {}))
        assert response.status_code in ((200, 404) if "whole" in tail else (200,)), tail
        page = Page(response.content)
        assert faults(page) == [], tail
        assert elsewhere(page) == [], tail
        opened = [tag for tag, _ in page.tags if tag in ("details", "article", "section")]
        assert [response.content.count(f"</{tag}>".encode()) for tag in ("details", "article", "section")] == [
            opened.count(tag) for tag in ("details", "article", "section")
        ], f"what a text closes stays open: {tail}"


def test_no_piece_alone_becomes_a_tag_of_its_own():
    for piece in PIECES:
        html = SafeString(markdown.render(piece, coloured=True))
        assert not re.search(r"<(?:script|img|style|svg|iframe|base|b|i|td>)\b(?![^>]*dir=)", html), piece
