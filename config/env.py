"""Settings from the environment: read, typed, and refused with their name when a value is bad.

Everything that a person can set stands in :class:`Environment`; nothing else reads settings from
``os.environ``. Imports neither Django nor psycopg: the supervisor stays small because of it.
"""

from __future__ import annotations

import difflib
import os
import shlex
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from itertools import groupby
from pathlib import Path
from urllib.parse import urlsplit

import platformdirs

from config import storage_url
from config.errors import ConfigError as ConfigError
from config.storage_url import StorageLocation

BASE_DIR = Path(__file__).resolve().parent.parent

HOST = "127.0.0.1"
PORT = 8000

OURS = (
    "COUNTERSIGN_DATA_DIR",
    "COUNTERSIGN_DATABASE_POOL",
    "COUNTERSIGN_DECRYPTION_KEY",
    "COUNTERSIGN_HOST",
    "COUNTERSIGN_KEEP_DELIVERIES_DAYS",
    "COUNTERSIGN_MAX_READERS",
    "COUNTERSIGN_MAX_UPLOAD_BYTES",
    "COUNTERSIGN_MCP_COMMANDS",
    "COUNTERSIGN_PART",
    "COUNTERSIGN_PORT",
    "COUNTERSIGN_PRIVATE_HOSTS",
    "COUNTERSIGN_PUBLIC_URL",
    "COUNTERSIGN_SIGNING_CERTIFICATES",
    "COUNTERSIGN_SIGNING_KEY",
    "COUNTERSIGN_TIMESTAMP_CERTIFICATES",
    "COUNTERSIGN_TIMESTAMP_URL",
    "COUNTERSIGN_TRANSPARENCY_KEYS",
    "COUNTERSIGN_TRANSPARENCY_URL",
    "COUNTERSIGN_TRUSTED_PROXIES",
    "COUNTERSIGN_UNDO_SECONDS",
    "COUNTERSIGN_WITNESS",
)
COMMON = (
    "ALLOWED_HOSTS",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "CELERY_BROKER_URL",
    "DATABASE_OWNER_URL",
    "DATABASE_URL",
    "DEBUG",
    "EMAIL_URL",
    "SECRET_KEY",
    "SLACK_API_URL",
    "SLACK_CLIENT_ID",
    "SLACK_CLIENT_SECRET",
    "SLACK_SIGNING_SECRET",
    "STORAGE_URL",
)
OF_AGENTS = (
    "COUNTERSIGN_AGENT",
    "COUNTERSIGN_API_KEY",
    "COUNTERSIGN_EMBEDDING_MODEL",
    "COUNTERSIGN_MODEL",
    "COUNTERSIGN_SPOOL",
    "COUNTERSIGN_URL",
)
"""Settings of the package ``countersign`` (``sdk/``), in the shell of who tries it here; none is the desk's."""
BOOLEANS = {"True": True, "true": True, "1": True, "False": False, "false": False, "0": False}
PREFIX = "COUNTERSIGN_"
DATABASE_SCHEMES = ("postgresql", "postgres")
BROKER_SCHEMES = ("pgmq", "amqp", "amqps", "redis", "rediss")
EMAIL_SCHEMES = ("smtp", "smtp+tls", "smtps")


@dataclass(frozen=True)
class Environment:
    """Typed settings of the environment. ``None`` means not set."""

    data_dir: Path
    database_url: str | None
    database_owner_url: str | None
    database_pool: int
    part: str | None
    broker_url: str | None
    secret_key: str | None
    allowed_hosts: tuple[str, ...]
    host: str | None
    port: int
    public_url: str | None
    debug: bool
    max_upload_bytes: int
    max_readers: int
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...]
    keep_deliveries_days: int
    undo_seconds: int
    anthropic_api_key: str | None
    anthropic_base_url: str | None
    mcp_commands: tuple[tuple[str, ...], ...]
    private_hosts: frozenset[tuple[str, int | None]]
    slack_api_url: str | None
    slack_client_id: str | None
    slack_client_secret: str | None
    slack_signing_secret: str | None
    email_url: str | None
    storage: StorageLocation | None
    decryption_key: Path | None
    signing_key: Path | None
    signing_certificates: Path | None
    timestamp_url: str | None
    timestamp_certificates: Path | None
    witness: str | None
    transparency_url: str | None
    transparency_keys: Path | None


def read(environ: Mapping[str, str] = os.environ) -> Environment:
    """The typed environment; raises :class:`ConfigError` naming the first bad value or name."""
    check_names(environ)
    return Environment(
        data_dir=Path(text(environ, "COUNTERSIGN_DATA_DIR") or default_data_dir()).expanduser().resolve(),
        database_url=database_url(environ, "DATABASE_URL"),
        database_owner_url=database_owner_url(environ),
        database_pool=integer(environ, "COUNTERSIGN_DATABASE_POOL", default=0, least=0),
        part=text(environ, "COUNTERSIGN_PART"),
        broker_url=url(environ, "CELERY_BROKER_URL", BROKER_SCHEMES),
        secret_key=secret(environ),
        allowed_hosts=word_list(environ, "ALLOWED_HOSTS"),
        host=(text(environ, "COUNTERSIGN_HOST") or "").strip("[]") or None,
        port=integer(environ, "COUNTERSIGN_PORT", default=PORT, least=0),
        public_url=url(environ, "COUNTERSIGN_PUBLIC_URL", ("https", "http"), needs_host=True),
        debug=boolean(environ, "DEBUG", default=False),
        max_upload_bytes=integer(environ, "COUNTERSIGN_MAX_UPLOAD_BYTES", default=512_000_000, least=1),
        max_readers=integer(environ, "COUNTERSIGN_MAX_READERS", default=500, least=1),
        trusted_proxies=networks(environ, "COUNTERSIGN_TRUSTED_PROXIES"),
        keep_deliveries_days=integer(environ, "COUNTERSIGN_KEEP_DELIVERIES_DAYS", default=90, least=1),
        undo_seconds=integer(environ, "COUNTERSIGN_UNDO_SECONDS", default=5, least=0),
        anthropic_api_key=text(environ, "ANTHROPIC_API_KEY"),
        anthropic_base_url=url(environ, "ANTHROPIC_BASE_URL", ("https", "http"), needs_host=True),
        mcp_commands=commands(environ, "COUNTERSIGN_MCP_COMMANDS"),
        private_hosts=frozenset(host_and_port(word) for word in word_list(environ, "COUNTERSIGN_PRIVATE_HOSTS")),
        slack_api_url=url(environ, "SLACK_API_URL", ("https", "http"), needs_host=True),
        **slack_app(environ),
        email_url=url(environ, "EMAIL_URL", EMAIL_SCHEMES, needs_host=True),
        storage=storage_url.location(url(environ, "STORAGE_URL", storage_url.SCHEMES)),
        decryption_key=file(environ, "COUNTERSIGN_DECRYPTION_KEY"),
        signing_key=file(environ, "COUNTERSIGN_SIGNING_KEY"),
        signing_certificates=file(environ, "COUNTERSIGN_SIGNING_CERTIFICATES"),
        timestamp_url=url(environ, "COUNTERSIGN_TIMESTAMP_URL", ("https", "http"), needs_host=True),
        timestamp_certificates=file(environ, "COUNTERSIGN_TIMESTAMP_CERTIFICATES"),
        witness=url(environ, "COUNTERSIGN_WITNESS", ("https", "http", "file")),
        transparency_url=transparency_url(environ),
        transparency_keys=file(environ, "COUNTERSIGN_TRANSPARENCY_KEYS"),
    )


def default_data_dir() -> Path:
    """Default data directory. Root's home is closed to the database's own user, so root has /var/lib."""
    if os.geteuid() == 0:
        return Path("/var/lib/countersign")
    return platformdirs.user_data_path("countersign")


def text(environ: Mapping[str, str], name: str) -> str | None:
    """Value of ``name`` without blanks around it; None when it is unset or empty."""
    return environ.get(name, "").strip() or None


def file(environ: Mapping[str, str], name: str) -> Path | None:
    """Path of a file that must exist and be readable; its content is checked where it is used."""
    value = text(environ, name)
    if value is None:
        return None
    path = Path(value).expanduser().resolve()
    if not path.is_file() or not os.access(path, os.R_OK):
        raise ConfigError(f"{name} is {value!r}: there is no file that can be read")
    return path


def word_list(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    """List of words, separated by commas or blanks."""
    return tuple((text(environ, name) or "").replace(",", " ").split())


def networks(environ: Mapping[str, str], name: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Addresses and networks, separated by commas or blanks: ``10.0.0.7, 172.16.0.0/12, fd00::/8``."""
    found = []
    for word in word_list(environ, name):
        try:
            found.append(ip_network(word))
        except ValueError as fault:
            raise ConfigError(f"{name} has {word!r} ({fault}): use addresses or networks, as 10.0.0.0/8") from fault
    return tuple(found)


def commands(environ: Mapping[str, str], name: str) -> tuple[tuple[str, ...], ...]:
    """Command lines, separated by semicolons and quoted as in a shell."""
    lexer = shlex.shlex(text(environ, name) or "", posix=True, punctuation_chars=";")
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        found = [list(line) for ends, line in groupby(lexer, lambda word: set(word) == {";"}) if not ends]
    except ValueError as fault:
        raise ConfigError(f"{name} is no list of commands ({fault}): use COMMAND ARGUMENT; COMMAND ARGUMENT") from fault
    return tuple(map(tuple, found))


def host_and_port(word: str) -> tuple[str, int | None]:
    """``HOST``, ``HOST:PORT`` or ``[IPv6]:PORT`` of COUNTERSIGN_PRIVATE_HOSTS: a lower-case name and a port or None."""
    try:
        parts = urlsplit(f"//{word}" if word.count(":") < 2 or "[" in word else f"//[{word}]")
        if parts.netloc and not parts.path and not parts.username and parts.hostname and "*" not in word:
            return parts.hostname.rstrip("."), parts.port
    except ValueError:
        pass
    raise ConfigError(f"COUNTERSIGN_PRIVATE_HOSTS has {word!r}: use HOST or HOST:PORT, without a scheme or a path")


def boolean(environ: Mapping[str, str], name: str, default: bool) -> bool:
    """True/False, true/false or 1/0; "yes" and "on" are refused, so that "off" can never mean on."""
    value = text(environ, name)
    if value is None:
        return default
    if value not in BOOLEANS:
        raise ConfigError(f"{name} is {value!r}: use True or False")
    return BOOLEANS[value]


def integer(environ: Mapping[str, str], name: str, default: int, least: int) -> int:
    """A whole number of at least ``least``."""
    value = text(environ, name)
    if value is None:
        return default
    if not value.isascii() or not value.isdigit() or int(value) < least:
        raise ConfigError(f"{name} is {value!r}: use a whole number of at least {least}, without a unit")
    return int(value)


def url(environ: Mapping[str, str], name: str, schemes: tuple[str, ...], needs_host: bool = False) -> str | None:
    """A URL with one of ``schemes``. A value can hold a password, so the message shows its scheme alone."""
    value = text(environ, name)
    if value is None:
        return None
    wanted = " or ".join(f"{scheme}://" for scheme in schemes)
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError as fault:
        raise ConfigError(f"{name} is not a URL ({fault}): use {wanted}...") from fault
    if parts.scheme not in schemes or port == 0 or "://" not in value:
        raise ConfigError(f"{name} starts with {value.split(':')[0]!r}: use {wanted}...")
    if needs_host and not parts.hostname:
        raise ConfigError(f"{name} names no host: use {schemes[0]}://HOST")
    return value


def database_url(environ: Mapping[str, str], name: str) -> str | None:
    """A URL that has to name a database, because libpq would else take the user's name for one."""
    value = url(environ, name, DATABASE_SCHEMES)
    if value is not None and not urlsplit(value).path.strip("/"):
        raise ConfigError(f"{name} names no database: use postgresql://USER:PASSWORD@HOST:5432/DATABASE")
    return value


def database_owner_url(environ: Mapping[str, str]) -> str | None:
    """``DATABASE_OWNER_URL``, whose user owns the tables; that of ``DATABASE_URL`` has to be another one then."""
    value = database_url(environ, "DATABASE_OWNER_URL")
    if value is None:
        return None
    owner, desk = urlsplit(value).username, urlsplit(text(environ, "DATABASE_URL") or "").username
    if not owner or not desk or owner == desk:
        raise ConfigError("DATABASE_OWNER_URL is set: it and DATABASE_URL have to name a user each, and not the same")
    return value


def secret(environ: Mapping[str, str]) -> str | None:
    """``SECRET_KEY``; a short one would let sessions be forged."""
    value = text(environ, "SECRET_KEY")
    if value is not None and len(value) < 32:
        raise ConfigError(f"SECRET_KEY has {len(value)} characters: use at least 32, or leave it unset")
    return value


def slack_app(environ: Mapping[str, str]) -> dict[str, str | None]:
    """The Slack app that admins can add by OAuth: client id, client secret and signing secret, all or none.

    The signing secret alone is allowed: it checks requests for installations that have none of their own.
    """
    values = {name: text(environ, name) for name in ("SLACK_CLIENT_ID", "SLACK_CLIENT_SECRET", "SLACK_SIGNING_SECRET")}
    missing = [name for name, value in values.items() if not value]
    if missing and (values["SLACK_CLIENT_ID"] or values["SLACK_CLIENT_SECRET"]):
        raise ConfigError(f"{missing[0]} is not set: a Slack app has a client id, a client secret and a signing secret")
    return {name.lower(): value for name, value in values.items()}


def transparency_url(environ: Mapping[str, str]) -> str | None:
    """Address of a transparency service; its keys come with it, for a receipt that nobody checks proves nothing."""
    found = url(environ, "COUNTERSIGN_TRANSPARENCY_URL", ("https", "http"), needs_host=True)
    if found and not text(environ, "COUNTERSIGN_TRANSPARENCY_KEYS"):
        raise ConfigError(
            "COUNTERSIGN_TRANSPARENCY_KEYS is not set: name a PEM file with the keys that the transparency service of "
            "COUNTERSIGN_TRANSPARENCY_URL signs its receipts with"
        )
    return found


def check_names(environ: Mapping[str, str]) -> None:
    """Refuse names that nobody reads: every unknown COUNTERSIGN_*, and near misses of the common ones."""
    for name in sorted(environ):
        if name in OURS or name in COMMON or name in OF_AGENTS:
            continue
        if name.startswith(PREFIX):
            ends = [known.removeprefix(PREFIX) for known in OURS]  # with it every name would be like each other
            near = difflib.get_close_matches(name.removeprefix(PREFIX), ends, n=1)
            rather = f"did you mean {PREFIX}{near[0]}?" if near else ".env.example names all of them"
            raise ConfigError(f"{name} is not a setting of Countersign: {rather}")
        meant = difflib.get_close_matches(name, COMMON, n=1, cutoff=0.9)
        if meant and not environ.get(meant[0]):
            raise ConfigError(f"{name} is not a setting of Countersign: did you mean {meant[0]}?")


def load_dotenv(path: Path = BASE_DIR / ".env", environ: MutableMapping[str, str] = os.environ) -> None:
    """Load NAME=VALUE lines of a ``.env`` file; a variable that is already set wins."""
    if not path.is_file():
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        line = line.strip().removeprefix("export ")
        if not line or line.startswith("#"):
            continue
        name, equals, value = line.partition("=")
        if not equals or not name.strip().isidentifier():
            raise ConfigError(f"{path.name} line {number} is not NAME=VALUE")
        environ.setdefault(name.strip(), _unquoted(value.strip()))


def _unquoted(value: str) -> str:
    quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value
