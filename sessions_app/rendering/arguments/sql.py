"""SQL: coloured, and what a statement writes named."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .markup import Token

MOST = 64 * 1024
_BRACKETED = 128
"""Characters of a name in brackets, which T-SQL alone has. Without an end to it 64 kB of ``[a[a[a`` took 12 s."""
_TOKEN = re.compile(
    r"(?P<comment>--[^\n]*|/\*.*?(?:\*/|$))"
    r"|(?P<string>'(?:[^']|'')*'?|\$(?P<tag>\w*)\$.*?(?:\$(?P=tag)\$|$))"
    rf"|(?P<name>\"(?:[^\"]|\"\")*\"?|`[^`]*`?|\[[A-Za-z_][^\]\n]{{0,{_BRACKETED - 1}}}\])"
    r"|(?P<number>\b\d[\d.]*\b)"
    r"|(?P<word>[A-Za-z_][\w$]*)"
    r"|(?P<space>\s+)"
    r"|(?P<other>.)",
    re.DOTALL,
)
_KEYWORDS = frozenset([
    "add", "all", "alter", "analyze", "and", "as", "asc", "attach", "begin", "between", "by", "call", "cascade",
    "case", "cast", "check", "cluster", "column", "commit", "conflict", "constraint", "copy", "create", "cross",
    "database", "default", "delete", "desc", "detach", "distinct", "do", "drop", "else", "end", "except",
    "execute", "exists", "explain", "false", "fetch", "for", "foreign", "from", "full", "function", "grant",
    "group", "having", "if", "in", "index", "inner", "insert", "intersect", "interval", "into", "is", "join",
    "key", "lateral", "left", "like", "limit", "lock", "materialized", "merge", "natural", "not", "null",
    "nulls", "of", "offset", "on", "only", "or", "order", "outer", "over", "owner", "partition", "policy",
    "primary", "procedure", "references", "reindex", "rename", "replace", "returning", "revoke", "right",
    "role", "rollback", "schema", "select", "sequence", "set", "table", "temporary", "then", "to", "trigger",
    "true", "truncate", "union", "unique", "update", "user", "using", "vacuum", "values", "view", "when",
    "where", "window", "with",
])  # fmt: skip
WRITES = frozenset([
    "insert", "update", "delete", "merge", "drop", "truncate", "alter", "create", "grant", "revoke", "replace",
    "copy", "call", "rename", "vacuum", "reindex", "do", "execute",
])  # fmt: skip
DESTROYS = frozenset({"drop", "truncate", "delete"})
_SKIPPED = frozenset({"from", "into", "table", "only", "if", "exists", "not", "or", "replace", "temporary", "ignore"})
_NOT_A_VERB = frozenset({"for", "on", "do", "of", "before", "after", "or", "instead", "references", "key", "foreign"})
"""Behind these a verb is none: ``FOR UPDATE``, ``ON DELETE``, ``DO UPDATE``."""


@dataclass(frozen=True, slots=True)
class Write:
    """What a statement changes: ``UPDATE refunds``. ``destroys``: it deletes, or changes every row."""

    verb: str
    what: str
    destroys: bool

    def __str__(self) -> str:
        return f"{self.verb} {self.what}".strip()


def tokens_of(query: str) -> list[Token]:
    """Tokens of one or more statements; verbs that write are marked as danger."""
    tokens, before = [], ""
    for kind, text in _lexed(query):
        word = text.lower() if kind == "word" else ""
        if word in WRITES and before not in _NOT_A_VERB and word not in ("replace", "do"):
            tokens.append(Token("danger", text))
        elif word in _KEYWORDS:
            tokens.append(Token("word", text))
        else:
            tokens.append(Token(kind if kind in ("comment", "string", "number") else "", text))
        before = word if kind == "word" else before if kind in ("space", "comment") else ""
    return tokens + ([Token("", query[MOST:])] if query[MOST:] else [])


def writes(query: str) -> list[Write]:
    """What a query changes, also from inside of a ``WITH``; empty when it only reads."""
    found: list[Write] = []
    for statement in _statements(query):
        words = [text.lower() if kind == "word" else text for kind, text in statement]
        for number, (kind, text) in enumerate(statement):
            before = words[number - 1] if number else ""
            verb = text.lower()
            if kind != "word" or verb not in WRITES or before in _NOT_A_VERB:
                continue
            if verb in ("replace", "do", "copy", "call", "execute", "rename") and number:
                continue  # verbs at the beginning of a statement alone: REPLACE(a, b) is a function
            everywhere = verb == "update" and "where" not in words[number:]
            drops = verb == "alter" and "drop" in words[number:]
            found.append(Write(text.upper(), _what(statement, number), verb in DESTROYS or everywhere or drops))
            if verb in ("create", "alter", "grant", "revoke", "drop"):
                break  # GRANT UPDATE ON t: the rest is not about rows
    return found


KEYS = ("query", "sql", "statement", "statements", "command")


def key_of(arguments: dict[str, Any]) -> str | None:
    """The argument that is SQL beyond doubt."""
    texts = (key for key in KEYS if isinstance(arguments.get(key), str))
    return next((key for key in texts if is_sql(arguments[key])), None)


_BEGINNINGS = {
    "select": {"from"}, "with": {"as"}, "insert": {"into"}, "update": {"set"}, "delete": {"from"}, "merge": {"into"},
    "drop": {"table", "view", "database", "schema", "index", "column", "role", "user"},
    "create": {"table", "view", "index", "database", "schema", "function", "role", "user", "trigger"},
    "alter": {"table", "role", "user", "database", "view", "schema"}, "truncate": set(), "grant": {"to"},
    "revoke": {"from"}, "explain": {"select", "update", "delete", "insert"},
}  # fmt: skip
"""First words of SQL, each with the words of which one comes later; any word where none is named."""


def is_sql(text: str) -> bool:
    """Whether a text looks like SQL beyond doubt: ``select shoes`` does not. Of others only the first word is read."""
    words = (match[0].lower() for match in _TOKEN.finditer(text[:4_000]) if match.lastgroup == "word")
    later = _BEGINNINGS.get(next(words, ""))
    return later is not None and any(not later or word in later for word in words)


def _lexed(query: str) -> list[tuple[str, str]]:
    """Kinds and texts; the tag of a dollar-quoted string is part of the string."""
    found = ((match.lastgroup or "", match[0]) for match in _TOKEN.finditer(query[:MOST]))
    return [("string" if kind == "tag" else kind, text) for kind, text in found]


def _statements(query: str) -> list[list[tuple[str, str]]]:
    statements: list[list[tuple[str, str]]] = [[]]
    for kind, text in _lexed(query):
        if kind == "other" and text == ";":
            statements.append([])
        elif kind not in ("space", "comment"):
            statements[-1].append((kind, text))
    return [statement for statement in statements if statement]


def _what(statement: list[tuple[str, str]], at: int) -> str:
    """The name behind a verb: ``public.refunds``, ``TABLE`` and the like left out."""
    name = ""
    for kind, text in statement[at + 1 : at + 12]:
        if kind == "word" and not name and text.lower() in _SKIPPED:
            continue
        if kind in ("word", "name") and (not name or name.endswith(".")):
            name += text
        elif text == "." and name:
            name += "."
        else:
            break
    return name
