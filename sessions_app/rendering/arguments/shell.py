"""Shell commands: broken at their operators, coloured, and what destroys or reaches far marked."""

from __future__ import annotations

import re
from itertools import pairwise

from .markup import Token

MOST = 64 * 1024
"""Characters that are looked at; what is behind them is shown without colours."""
TOKEN = re.compile(
    r"(?P<comment>(?:(?<=\s)|^)\#[^\n]*)"
    r"|(?P<string>'[^']*'?|\"(?:[^\"\\]|\\.)*\"?)"
    r"|(?P<op>&&|\|\||;;?|\|&?|&(?!>)|>>?|<<?<?|\n)"
    r"|(?P<variable>\$(?:\{[^}\n]{0,200}\}|\w+|[?!#@*$]))"
    r"|(?P<space>[ \t\r]+)"
    r"|(?P<word>(?:[^\s'\"&|;<>$#\\]|\\.|\#)+)"
    r"|(?P<other>.)",
    re.DOTALL | re.MULTILINE,
)
BREAKS = frozenset({"&&", "||", ";", "|", "|&", "&"})

_DANGERS: tuple[tuple[str, str], ...] = (
    (r"\brm\s+(?:-[\w-]+\s+)*-(?:\w*[rRf]\w*|-recursive|-force)\b[^\n;&|]*", "deletes files without asking"),
    (r"\bsudo\b|\bdoas\b|\bsu\s+-", "runs as another user"),
    (r"\b(?:curl|wget|fetch)\b[^\n;&]*\|\s*(?:sudo\s+)?(?:ba|z|da|k)?sh\b", "runs what it downloads"),
    (r"\b(?:ba|z)?sh\s+(?:-c\s+)?[\"']?\$\((?:curl|wget)[^\n)]*\)|<\((?:curl|wget)[^\n)]*\)", "runs what it downloads"),
    (r"\beval\b", "runs text as a command"),
    (r"\b(?:ssh|scp|sftp|rsync\s[^\n;&|]*:)(?=\s|$)", "reaches another machine"),
    (r"\b(?:dd\s[^\n;&|]*\bof=\S+|mkfs(?:\.\w+)?\b|wipefs\b|fdisk\b|shred\b)", "overwrites a disk or a file"),
    (r">\s*/dev/(?:sd|nvme|disk)\w*", "overwrites a disk"),
    (r"\bgit\s+(?:push\s+[^\n;&|]*(?:--force\b|-f\b|--delete\b|\+\w)|reset\s+--hard|clean\s+-\w*f)", "loses work"),
    (r"\b(?:drop\s+(?:table|database|schema)|truncate\s+table|delete\s+from)\b[^\n;\"']*", "deletes data"),
    (r"\b(?:terraform|tofu|pulumi)\s+(?:destroy|apply)\b|\bkubectl\s+delete\b|\bhelm\s+uninstall\b", "changes systems"),
    (r"\b(?:chmod\s+(?:-R\s+)?[0-7]?777|chown\s+-R)\b", "changes who may"),
    (r"\bfind\s[^\n;&|]*\s-delete\b", "deletes files without asking"),
    (r":\(\)\s*\{[^}]*\};\s*:", "a fork bomb"),
    (r"\b(?:shutdown|reboot|halt|poweroff)\b|\bkill(?:all)?\s+-9\b", "stops what runs"),
    (r"\bbase64\s+(?:-d|--decode|-D)\b[^\n;&]*\|\s*(?:ba|z)?sh\b", "runs what it decodes"),
)  # fmt: skip
_DANGER = [(re.compile(pattern, re.IGNORECASE), why) for pattern, why in _DANGERS]


def dangers(command: str) -> list[tuple[int, int, str]]:
    """Places of a command that destroy or reach far: where they begin and end, and why; in their order."""
    head = command[:MOST]
    found = [(match.start(), match.end(), why) for pattern, why in _DANGER for match in pattern.finditer(head)]
    return sorted(found)


def tokens_of(command: str) -> list[Token]:
    """Tokens of a command, with a line break before each operator that joins commands."""
    marked = dangers(command)
    tokens: list[Token] = []
    is_first = True
    for match in TOKEN.finditer(command[:MOST]):
        kind, text = match.lastgroup or "", match[0]
        if kind == "op" and text in BREAKS:
            tokens += [Token("", "\n"), Token("op", text)]
            is_first = True
            continue
        if kind == "op" and text == "\n":
            is_first = True
        is_danger = any(start < match.end() and match.start() < end for start, end, _ in marked)
        if is_danger and kind != "space":
            tokens.append(Token("danger", text))
        elif kind == "word":
            tokens.append(Token("word" if is_first else "", text))
        else:
            tokens.append(Token({"space": "", "other": ""}.get(kind, kind), text))
        if kind in ("word", "string", "variable") and "=" not in text:
            is_first = False
    rest = command[MOST:]
    return _tidy(tokens) + ([Token("", rest)] if rest else [])


def _tidy(tokens: list[Token]) -> list[Token]:
    """Without the blanks that stood before an operator: the line ends there now."""
    kept = [
        token
        for token, after in pairwise([*tokens, Token("", "")])
        if not (token.text.isspace() and after == ("", "\n"))
    ]
    return [
        token for token, before in zip(kept, [Token("", ""), *kept], strict=False) if not _is_doubled(token, before)
    ]


def _is_doubled(token: Token, before: Token) -> bool:
    """A line break of ours right behind one that the command has itself."""
    return token == ("", "\n") and before.text == "\n"
