"""Code as tokens with colours: Pygments, bounded in length, lines and time, since every text is hostile.

A kind of token is the end of a class in ``static/css/parts.css``: comment, string, number, word (keywords), name (what
is defined or is a key), variable, op. Text that is too long, has too long lines or takes too long has no colours; it
is never left out.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from html import escape
from itertools import groupby

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, String, _TokenType

from .text import clean

MOST = 50 * 1024
"""Characters from which on a text has no colours."""
LINE = 1_000
"""Characters of a line from which on a text has none: many rules of lexers are quadratic within a line."""
PATIENCE = 0.1
"""Seconds after which the rest of a text stays without colours. The slowest single rule found takes 30 ms more."""
GROWTH = 12
"""HTML of a text is at most so many times its characters, as without colours: windows are cut by that."""

_NAMES = frozenset([
    "bash", "c", "cpp", "csharp", "css", "docker", "diff", "elixir", "go", "graphql", "haskell", "html", "ini", "java",
    "javascript", "json", "kotlin", "lua", "make", "php", "powershell", "protobuf", "python", "r", "ruby", "rust",
    "scala", "scss", "sql", "swift", "terraform", "toml", "typescript", "xml", "yaml", "zig",
])  # fmt: skip
_ALIASES = dict.fromkeys(_NAMES, "") | {
    "sh": "bash", "shell": "bash", "zsh": "bash", "console": "bash", "shell-session": "bash", "shellscript": "bash",
    "h": "c", "hpp": "cpp", "hh": "cpp", "cc": "cpp", "cxx": "cpp", "c++": "cpp", "cs": "csharp", "c#": "csharp",
    "dockerfile": "docker", "patch": "diff", "ex": "elixir", "exs": "elixir", "golang": "go", "gql": "graphql",
    "hs": "haskell", "htm": "html", "vue": "html", "svelte": "html", "cfg": "ini", "conf": "ini", "env": "ini",
    "properties": "ini", "js": "javascript", "mjs": "javascript", "cjs": "javascript", "jsx": "javascript",
    "jsonc": "json", "json5": "json", "jsonl": "json", "ipynb": "json", "kt": "kotlin", "kts": "kotlin",
    "makefile": "make", "mk": "make", "ps1": "powershell", "pwsh": "powershell", "proto": "protobuf", "py": "python",
    "pyi": "python", "python3": "python", "py3": "python", "rb": "ruby", "rs": "rust", "sass": "scss", "less": "scss",
    "postgresql": "sql", "postgres": "sql", "mysql": "sql", "sqlite": "sql", "psql": "sql", "tf": "terraform",
    "hcl": "terraform", "lock": "toml", "ts": "typescript", "tsx": "typescript", "mts": "typescript",
    "svg": "xml", "xsd": "xml", "plist": "xml", "yml": "yaml",
}  # fmt: skip
_KINDS: dict[_TokenType, str] = {
    Comment: "comment", Comment.Preproc: "word", Comment.PreprocFile: "string", String: "string", Number: "number",
    Keyword: "word", Keyword.Constant: "number", Operator.Word: "word", Name.Function: "name", Name.Class: "name",
    Name.Decorator: "name", Name.Builtin: "name", Name.Tag: "name", Name.Attribute: "name", Name.Property: "name",
    Name.Constant: "number", Name.Variable: "variable", String.Interpol: "variable", Generic.Inserted: "string",
    Generic.Deleted: "number", Generic.Subheading: "word", Generic.Heading: "word",
}  # fmt: skip
KINDS = frozenset(_KINDS.values())
_lexers: dict[str, Lexer] = {}
_kinds_of: dict[_TokenType, str] = {}


def language_of(name: str) -> str:
    """The language that a code block is called; empty when it has no colours here."""
    word = name.strip().split(maxsplit=1)[0].strip("{.}").lower() if name.strip() else ""
    return (_ALIASES[word] or word) if word in _ALIASES else ""


def language_of_path(path: str) -> str:
    """The language of a file, by the end of its name; empty when it has no colours here."""
    name = re.split(r"[/\\]", path[-400:])[-1].lower()
    return language_of(name) if name in ("dockerfile", "makefile") else language_of(name.rpartition(".")[2])


def coloured(text: str, language: str) -> str:
    """A text as HTML, escaped and with nothing invisible in it, coloured where that is possible."""
    return "".join(lines_of(text, language))


def lines_of(text: str, language: str) -> list[str]:
    """``coloured``, line by line; all but the last end in ``\\n``. A token of several lines is one in each."""
    shown = clean(text)
    lines = [[]] if (found := tokens_of(shown, language)) is None else split(found)
    html = ["".join(span(kind, piece) for kind, piece in line) for line in lines]
    if found is None or sum(map(len, html)) > GROWTH * len(shown):
        return _plain(shown)
    return html


def _plain(shown: str) -> list[str]:
    pieces = [escape(piece) for piece in shown.split("\n")]
    return [f"{piece}\n" for piece in pieces[:-1]] + pieces[-1:]


def span(kind: str, piece: str) -> str:
    """A piece of clean text as HTML, in the colour of its kind."""
    return f'<span class="t-{kind}">{escape(piece)}</span>' if kind else escape(piece)


def tokens_of(text: str, language: str, patience: float = PATIENCE) -> list[tuple[str, str]] | None:
    """Kinds and texts of a clean text, neighbours of one kind together; None when it has no colours."""
    if language not in _NAMES or not text or len(text) > MOST or _has_long_line(text):
        return None
    pieces = groupby(_within(_lexer(language), text, patience), key=lambda piece: piece[0])
    return [(kind, "".join(piece for _, piece in run)) for kind, run in pieces]


def split(tokens: Iterable[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """Tokens by line, each line with its end."""
    lines: list[list[tuple[str, str]]] = [[]]
    for kind, text in tokens:
        for number, piece in enumerate(text.split("\n")):
            if number:
                lines[-1].append(("", "\n"))
                lines.append([])
            if piece:
                lines[-1].append((kind, piece))
    return lines


def _within(lexer: Lexer, text: str, patience: float) -> Iterator[tuple[str, str]]:
    """Pieces of the text, in order and complete: what is behind the last token in time is one piece more."""
    until, at = time.monotonic() + patience, 0
    for start, token, piece in lexer.get_tokens_unprocessed(text):
        if start != at or time.monotonic() > until:
            break  # a lexer that leaves something out or goes back: what it says is not the text
        at = start + len(piece)
        yield ("" if piece.isspace() else _kind(token)), piece
    if text[at:]:
        yield "", text[at:]


def _kind(token: _TokenType) -> str:
    if token not in _kinds_of:
        kind, asked = None, token
        while asked is not None and kind is None:
            kind, asked = _KINDS.get(asked), asked.parent
        _kinds_of[token] = kind or ""
    return _kinds_of[token]


def _lexer(language: str) -> Lexer:
    if language not in _lexers:
        _lexers[language] = get_lexer_by_name(language)
    return _lexers[language]


def _has_long_line(text: str) -> bool:
    return len(text) > LINE and any(len(line) > LINE for line in text.split("\n"))
