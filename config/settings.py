"""Django's settings. What a person may set is read and checked in ``config.env``; the rest is decided here."""

import mimetypes
import os
import secrets
import tomllib
from contextlib import suppress
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from celery.schedules import BaseSchedule, crontab, schedule
from psycopg.conninfo import conninfo_to_dict
from whitenoise.compress import Compressor

from config import broker, env, storage_url
from config.database.cluster import Cluster, make_data_dir

BASE_DIR = env.BASE_DIR
env.load_dotenv()
ENV = env.read()

# --- places -----------------------------------------------------------------------------------------------------

DATA_DIR = ENV.data_dir
make_data_dir(DATA_DIR)


def _inside_data_dir(name: str) -> Path:
    path = DATA_DIR / name
    path.mkdir(exist_ok=True, mode=0o700)
    return path


# One storage for documents and exports where several hosts share it, else two folders of this installation's own.
_storage = ENV.storage
STORAGE_NAME = str(_storage) if _storage else ""
DOCUMENTS_DIR: Path | None = _storage.folder if _storage else _inside_data_dir("documents")
MAX_UPLOAD_BYTES = ENV.max_upload_bytes
MAX_READERS = ENV.max_readers
TRUSTED_PROXIES = ENV.trusted_proxies
KEEP_DELIVERIES_DAYS = ENV.keep_deliveries_days
UNDO_SECONDS = ENV.undo_seconds
FILE_UPLOAD_TEMP_DIR = str(_inside_data_dir("uploads"))
MAX_WEBHOOK_BYTES = 1024 * 1024
# A batch of 1,000 events, an OTLP request: read whole into memory, so bounded well below a file.
DATA_UPLOAD_MAX_MEMORY_SIZE = 32 * 1024 * 1024

# Private keys stay in files of the operator's: never in the database, never shown.
DECRYPTION_KEY = ENV.decryption_key
SIGNING_KEY, SIGNING_CERTIFICATES = ENV.signing_key, ENV.signing_certificates
# Where checkpoints are taken to, so that who holds this database and this disk cannot rewrite them unnoticed.
TIMESTAMP_URL, TIMESTAMP_CERTIFICATES = ENV.timestamp_url, ENV.timestamp_certificates
WITNESS = ENV.witness
# Where signed exports are registered, and the keys that its receipts are checked with.
TRANSPARENCY_URL, TRANSPARENCY_KEYS = ENV.transparency_url, ENV.transparency_keys

# --- who may talk to us -----------------------------------------------------------------------------------------


def _kept_secret_key(path: Path) -> str:
    """The key of this installation; made once, and readable by its owner alone."""
    if not path.exists():
        aside = path.with_name(f"secret_key.{os.getpid()}")
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(48))
        with suppress(FileExistsError):  # another process was first, and its key stays
            os.link(aside, path)
        aside.unlink()
    return path.read_text()


SECRET_KEY_FILE = DATA_DIR / "secret_key"
SECRET_KEY = ENV.secret_key or _kept_secret_key(SECRET_KEY_FILE)
DEBUG = ENV.debug
PUBLIC_URL = ENV.public_url
SITE_URL = PUBLIC_URL or ""
"""What an exported file says it comes from; empty when nobody has said where people find this installation."""
VERSION = tomllib.loads((BASE_DIR / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
_public = urlsplit(PUBLIC_URL or "")
ALLOWED_HOSTS = [
    *(ENV.allowed_hosts or ("localhost", "127.0.0.1", "[::1]")),
    *(f"[{host}]" if ":" in host else host for host in (ENV.host, _public.hostname) if host),
]
CSRF_TRUSTED_ORIGINS = [f"{_public.scheme}://{_public.netloc}"] if PUBLIC_URL else []

# Cookies are kept to https only where people come by https; http://127.0.0.1 must work without.
_https = _public.scheme == "https"
SESSION_ENGINE = "config.browser_sessions"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _https
SECURE_HSTS_SECONDS = 31_536_000 if _https else 0
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CSRF_COOKIE_SAMESITE = SESSION_COOKIE_SAMESITE = "Lax"

AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "/"

# --- the application --------------------------------------------------------------------------------------------

# No app: as one it is loaded by every process, with Pydantic, Jinja and Django's test client: 6 to 13 MB of a worker.
NINJA = Path(str(find_spec("ninja").origin)).parent  # type: ignore[union-attr]
INSTALLED_APPS = [
    "config",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "sessions_app",
    "vcon_app",
]
# Each of these runs natively under asyncio: one that does not would hold a thread for every open stream.
MIDDLEWARE = [
    "config.middleware.head_alone",
    "config.middleware.content_security_policy",
    "vcon_app.api.span_errors.span_errors",
    "sessions_app.api.problems.problem_details",
    "config.web.hooks.Security",
    "config.middleware.release_database",
    "config.web.hooks.Language",
    "config.web.hooks.Sessions",
    "config.web.hooks.Common",
    "config.web.hooks.Csrf",
    "config.web.hooks.Authentication",
    "config.web.hooks.Messages",
    "config.web.hooks.FrameOptions",
    "config.middleware.reader_zone",
    "django_htmx.middleware.HtmxMiddleware",
    "config.web.error_pages.page_of_405",
]
ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates", NINJA / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["django.templatetags.i18n"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "sessions_app.views.context.desk",
            ],
        },
    }
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
LANGUAGE_CODE = "en"
USE_I18N = True
LANGUAGES = [("en", "English")]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static", NINJA / "static"]
mimetypes.add_type("application/speculationrules+json", ".speculationrules")  # a browser takes them as nothing else
# Source maps are 5 of the API page's 8 MB; compressing them took most of a second of the first start.
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = (*Compressor.SKIP_COMPRESS_EXTENSIONS, "map")
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
STORAGES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": DATA_DIR}},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "config.static_files.HashedFilesStorage"
    },
}
if _storage and _storage.bucket:
    STORAGES["documents"] = {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": storage_url.s3_options(_storage)}

# --- database and broker ----------------------------------------------------------------------------------------


def _database(parameters: dict[str, str]) -> dict[str, Any]:
    """Django's form of libpq's parameters. Processes with many threads add a pool (``config.database.pool``)."""
    own = {"host": "HOST", "port": "PORT", "dbname": "NAME", "user": "USER", "password": "PASSWORD"}
    options: dict[str, Any] = {name: value for name, value in parameters.items() if name not in own}
    return {
        "ENGINE": "django.db.backends.postgresql",
        **{own[name]: value for name, value in parameters.items() if name in own},
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,
        # What Django sends has its parameters in its text and is never prepared: sessions_app.services.log.prepared is.
        "OPTIONS": options | {"prepare_threshold": 2},
    }


# A host that vanished is noticed in 20 s; with the system's defaults after two hours.
KEEPALIVE = {
    "connect_timeout": "5", "keepalives_idle": "5", "keepalives_interval": "5", "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}  # fmt: skip


def _parameters(url: str) -> dict[str, str]:
    return KEEPALIVE | {name: str(value) for name, value in conninfo_to_dict(url).items()}


# Web server and workers connect as a role that cannot change the log; the owner migrates (``config.database.roles``).
EMBEDDED_CLUSTER: Cluster | None = None
if ENV.database_url:
    DATABASE_PARAMETERS = _parameters(ENV.database_url)
    DATABASE_OWNER_PARAMETERS = _parameters(ENV.database_owner_url or ENV.database_url)
else:
    EMBEDDED_CLUSTER = Cluster(DATA_DIR)
    DATABASE_PARAMETERS, DATABASE_OWNER_PARAMETERS = EMBEDDED_CLUSTER.desk_parameters, EMBEDDED_CLUSTER.parameters
DATABASES = {"default": _database(DATABASE_PARAMETERS)}
DATABASE_OWNER = _database(DATABASE_OWNER_PARAMETERS)
"""What ``DATABASES["default"]`` is for the commands that need the owner."""

CELERY_BROKER_URL = ENV.broker_url or broker.URL
CELERY_BROKER_TRANSPORT_OPTIONS = broker.transport_options(None if ENV.broker_url else DATABASE_PARAMETERS)
CELERY_BROKER_POOL_LIMIT = 2
CELERY_BROKER_CONNECTION_TIMEOUT = 4
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TASK_DEFAULT_QUEUE = broker.QUEUE
BIG_QUEUE = broker.BIG
CELERY_TASK_ROUTES = {
    f"sessions_app.tasks.{task}": {"queue": queue}
    for queue, tasks in {
        broker.PEOPLE: (
            "run_turn", "read_slack",
            "tell_of_approval", "tell_of_budget", "send_notice", "send_mention", "push_mention",
        ),
        broker.TURNS: ("run_triggered_turn", "close_session", "look_again", "post_message"),
    }.items()
    for task in tasks
}  # fmt: skip
MOST_TURNS_OF_ONE = {broker.PEOPLE: 24, broker.TURNS: 12}
"""Of the threads of a host (``config.processes.parts.THREADS``) three quarters: the rest is there for whoever comes."""
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False  # pgmq's queue names are too short for it: see config.celery.pong
CELERY_WORKER_CONSUMER = "config.celery:ReconnectingConsumer"
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False  # a job row says whether a task still works
CELERY_TIMEZONE = "UTC"

# What time brings about, by the scheduler (config.processes.scheduler). Looks that are short are made there, not sent:
# what nobody decides in time is denied also while the broker is away or full.
SWEEP_SECONDS = 5
LOOKS = {
    "vcon_app.tasks.sweep": SWEEP_SECONDS,
    "sessions_app.tasks.expire_approvals": SWEEP_SECONDS,
    "sessions_app.tasks.carry_out_stops": SWEEP_SECONDS,
    "sessions_app.tasks.fire_escalation_steps": SWEEP_SECONDS,
    "sessions_app.tasks.sweep_turns": SWEEP_SECONDS,
    "sessions_app.tasks.sweep_search_rows": SWEEP_SECONDS,
    "sessions_app.tasks.settle_shared_responses": SWEEP_SECONDS,
    "sessions_app.tasks.keep_totals": SWEEP_SECONDS,
    "sessions_app.tasks.fill_in_run_summaries": SWEEP_SECONDS,
    "sessions_app.tasks.sweep_slack": SWEEP_SECONDS,
    "sessions_app.tasks.sweep_notices": SWEEP_SECONDS,
    "sessions_app.tasks.fire_schedules": 1,
    "sessions_app.tasks.settle_decisions": 1,
    "sessions_app.tasks.sweep_deliveries": 60,
    # A checkpoint at least every minute that something happened; one in which nothing did makes none.
    "vcon_app.tasks.make_checkpoints": 45,
    "vcon_app.tasks.take_receipts": SWEEP_SECONDS,
}
"""Task -> seconds between two looks. Schedules have minutes, so theirs is a second late at most."""
CALL_OTHERS = {
    "sessions_app.tasks.sweep_slack", "vcon_app.tasks.make_checkpoints", "vcon_app.tasks.sweep",
    "vcon_app.tasks.take_receipts",
}  # fmt: skip
"""Looks that ask Slack, a witness, a transparency service or a storage, one thing after the other: slow is not hung."""
SENT: dict[str, BaseSchedule] = {
    # What people answer at a runtime elsewhere: each look at a session that waits is three requests to it.
    "sessions_app.tasks.look_again": schedule(timedelta(seconds=120)),
    "vcon_app.tasks.remove_old_files": crontab(minute=41),
    # The scheduler knows nothing of the day before: one hour a day would pass by a machine that is off then.
    "sessions_app.tasks.remove_old": crontab(minute=23, hour="*/6"),
    "sessions_app.tasks.make_event_months": crontab(minute=11, hour="*/6"),
    "sessions_app.tasks.apply_retention": crontab(minute="*/10"),
    "vcon_app.tasks.delete_what_is_over": crontab(minute="5-59/10"),
}
"""Task -> when it is sent to a worker."""

# --- others -----------------------------------------------------------------------------------------------------

ANTHROPIC_API_KEY = ENV.anthropic_api_key
ANTHROPIC_BASE_URL = ENV.anthropic_base_url
MCP_COMMANDS = ENV.mcp_commands
PRIVATE_HOSTS = ENV.private_hosts

SLACK_API_URL = (ENV.slack_api_url or "https://slack.com/api/").rstrip("/") + "/"
SLACK_CLIENT_ID, SLACK_CLIENT_SECRET = ENV.slack_client_id, ENV.slack_client_secret
SLACK_SIGNING_SECRET = ENV.slack_signing_secret

_email = urlsplit(ENV.email_url or "")
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if ENV.email_url else 'dummy'}.EmailBackend"
EMAIL_HOST = _email.hostname or "localhost"
EMAIL_PORT = _email.port or {"smtp": 25, "smtp+tls": 587, "smtps": 465}.get(_email.scheme, 25)
EMAIL_HOST_USER = unquote(_email.username or "")
EMAIL_HOST_PASSWORD = unquote(_email.password or "")
EMAIL_USE_TLS = _email.scheme == "smtp+tls"
EMAIL_USE_SSL = _email.scheme == "smtps"
EMAIL_TIMEOUT = 20
EMAIL_CONFIGURED = bool(ENV.email_url)
DEFAULT_FROM_EMAIL = EMAIL_HOST_USER if "@" in EMAIL_HOST_USER else f"countersign@{_public.hostname or 'localhost'}"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "filters": {"unavailable": {"()": "config.web.unavailable.OneLineWhileUnavailable"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["unavailable"]}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "django": {"handlers": [], "level": "WARNING", "propagate": True},
        "django.request": {"level": "ERROR"},  # 4xx is the caller's affair
        "django.security.DisallowedHost": {"level": "CRITICAL"},  # scanners would fill the log with tracebacks
        "psycopg.pool": {"level": "ERROR"},  # two lines for each try while the database is away
        "config": {"level": "INFO"},
        "sessions_app": {"level": "INFO"},
        "vcon_app": {"level": "INFO"},
    },
}
