"""Sentences of parts that know no language: English texts that a page says in the language of its reader.

``gettext`` and ``ngettext`` are called as Django's are, so that ``makemessages`` finds their messages. What they give
is an English text: stored, signed, exported or answered by the API it is that and nothing else. Where a page shows it,
``sessions_app.views.translated`` says it in its language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Say = Callable[[str, str, int | None], str]
"""From a message, the one for many ("" where there is none) and a number, the message in another language."""


class Phrase(str):
    """An English text that remembers its message, and the values that stand in it."""

    __slots__ = ("_message", "_many", "_number", "_values")
    _message: str
    _many: str
    _number: int | None
    _values: dict[str, Any]

    def said(self, say: Say) -> str:
        """The same in another language; values that are phrases are said in it, too."""
        message = say(self._message, self._many, self._number)
        if not self._values:
            return message
        return message % {name: in_language(value, say) for name, value in self._values.items()}


def gettext(message: str, **values: Any) -> Phrase:
    """``gettext("after %(time)s", time="3 m")``: a text with values in it."""
    return _phrase(message, "", None, values)


def ngettext(one: str, many: str, number: int, **values: Any) -> Phrase:
    """A text for one and for many."""
    return _phrase(one, many, number, values)


def joined(separator: str, texts: Iterable[str]) -> Phrase:
    """Texts, some of them phrases, one behind the other."""
    values = {f"text{number}": text for number, text in enumerate(texts)}
    return _phrase(separator.join(f"%({name})s" for name in values), "", None, values)


def in_language(text: Any, say: Say) -> Any:
    """A phrase in another language; everything else as it is: what strangers wrote is no message."""
    return text.said(say) if isinstance(text, Phrase) else text


def _phrase(message: str, many: str, number: int | None, values: dict[str, Any]) -> Phrase:
    shown = many if many and number != 1 else message
    made = Phrase(shown % values if values else shown)
    made._message, made._many, made._number, made._values = message, many, number, values
    return made
