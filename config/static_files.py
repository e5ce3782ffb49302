"""Static files of production: compressed, and with a hash of their content in the name, so that browsers keep them."""

from __future__ import annotations

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedFilesStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # a class without types
    """Storage of collectstatic that also writes the hashed names into the ``import`` lines of our own scripts.

    Without them a page would load ``keyboard.js`` of the last release beside the scripts of this one.
    """

    support_js_module_import_aggregation = True
    # Django takes every *.js. Ours alone: a comment in django-htmx's hx-sse-2.js shows import("../htmx"), and
    # collectstatic stops at a file that is not there.
    _js_module_import_aggregation_patterns = (
        "js/*.js",
        CompressedManifestStaticFilesStorage._js_module_import_aggregation_patterns[1],
    )
