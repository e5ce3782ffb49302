"""The ASGI application: ``config.asgi:application``."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

import django  # noqa: E402

django.setup(set_prefix=False)  # before what imports models: until then there are none

from django.conf import settings  # noqa: E402
from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler  # noqa: E402

from config.database import pool  # noqa: E402
from config.web import gate  # noqa: E402
from config.web.admission import Admission  # noqa: E402
from config.web.bodies import BodyLimits, limits  # noqa: E402
from config.web.disk_room import DiskRoom  # noqa: E402
from config.web.handler import Handler  # noqa: E402
from config.web.proxies import ForwardedHeaders  # noqa: E402
from config.web.static import StaticFiles  # noqa: E402

READERS = 8
"""Connections beside those of the requests at work: streams and long polls read in threads of their own, hashed
passwords are followed by a sign-in.
"""
pool.share(gate.AT_ONCE + READERS)

_django = Handler()
_files = (
    Admission(ASGIStaticFilesHandler(_django))
    if settings.DEBUG
    else StaticFiles(Admission(_django), root=str(settings.STATIC_ROOT), prefix=settings.STATIC_URL)
)
application = ForwardedHeaders(BodyLimits(DiskRoom(_files), limits()))
