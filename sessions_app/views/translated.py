"""The edge of a page: what other parts say in English, in the language of the reader."""

from __future__ import annotations

from typing import Any

from django.utils import translation

from sessions_app import phrases


def translated(text: Any) -> Any:
    """A phrase (``sessions_app.phrases``) in the language of the page; anything else as it is."""
    return phrases.in_language(text, _say)


def _say(message: str, many: str, number: int | None) -> str:
    if number is None:
        return translation.gettext(message)
    return translation.ngettext(message, many, number)
