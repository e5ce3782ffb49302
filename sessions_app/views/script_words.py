"""What the scripts of a page say, in its language: their catalogue, for ``static/js/words.js``."""

from __future__ import annotations

from functools import cache

from django.conf import settings
from django.utils.html import json_script
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation.trans_real import DjangoTranslation
from django.views.i18n import JavaScriptCatalog

PLACE = "script-words"
"""Id of the element that holds it."""
COUNTED = 200
"""Numbers whose plural form is told: the rules of gettext look at the last two digits."""


def words_of_scripts() -> SafeString:
    """The catalogue as JSON in the page: no request, and nothing that a content security policy would have to allow.
    Empty in English, which is in the scripts."""
    language = get_language() or settings.LANGUAGE_CODE
    return SafeString("") if language == settings.LANGUAGE_CODE else _catalogue(language)


@cache
def _catalogue(language: str) -> SafeString:
    view = JavaScriptCatalog()
    view.translation = DjangoTranslation(language, domain="djangojs")
    forms = "".join(str(int(view.translation.plural(number))) for number in range(COUNTED))
    return json_script({"catalogue": view.get_catalog(), "plural": forms}, PLACE)
