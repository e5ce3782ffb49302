"""The ASGI application: ``config.asgi:application``."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from django.conf import settings  # noqa: E402
from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler  # noqa: E402
from django.core.asgi import get_asgi_application  # noqa: E402

from config.database import pool  # noqa: E402
from config.gateway import BodyLimit, StaticFiles  # noqa: E402

pool.share(10)

_django = get_asgi_application()
_files = (
    ASGIStaticFilesHandler(_django)
    if settings.DEBUG
    else StaticFiles(_django, root=str(settings.STATIC_ROOT), prefix=settings.STATIC_URL)
)
# Anybody may post to a webhook's address, so no more is read than is kept.
_hooks = BodyLimit(_files, settings.MAX_WEBHOOK_BYTES, "/hooks/", "send a link to what is larger")
# One file of the full size and its form still fit: the upload page says what is wrong with a file that is a little
# too large, by name; this is for what is far too large to be stored first.
application = BodyLimit(_hooks, limit=2 * settings.MAX_UPLOAD_BYTES + 1024 * 1024)
