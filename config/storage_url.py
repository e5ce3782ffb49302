"""``STORAGE_URL``: the one storage that every host of an installation reads documents and exports from.

``file:///mounted/folder``, or ``s3://BUCKET/PREFIX?endpoint=https://HOST&region=NAME``; the keys of S3 come from where
boto3 looks for them (``AWS_ACCESS_KEY_ID`` and ``AWS_SECRET_ACCESS_KEY``, a role of the machine). Imports no Django.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from config.errors import ConfigError

SCHEMES = ("file", "s3")
S3_OPTIONS = ("endpoint", "region")
MEMORY_BYTES = 16 * 1024 * 1024
"""Of an object that is read; what is larger goes to a temporary file."""


@dataclass(frozen=True)
class StorageLocation:
    """A folder, or a bucket with a prefix."""

    folder: Path | None = None
    bucket: str = ""
    prefix: str = ""
    endpoint: str | None = None
    region: str | None = None

    def __str__(self) -> str:
        return str(self.folder) if self.folder else f"s3://{self.bucket}/{self.prefix}"


def location(url: str | None) -> StorageLocation | None:
    """The storage that a URL names, None where it is unset. Raises ConfigError."""
    if url is None:
        return None
    parts = urlsplit(url)
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost") or parts.path in ("", "/") or parts.query:
            raise ConfigError("STORAGE_URL names no folder: use file:///mounted/folder")
        return StorageLocation(folder=Path(unquote(parts.path)))
    if importlib.util.find_spec("storages") is None or importlib.util.find_spec("boto3") is None:
        raise ConfigError(
            "STORAGE_URL is s3://..., and what that needs is not installed: start with script/server, or "
            "pip install --require-hashes -r requirements/s3.txt"
        )
    if not parts.netloc or "@" in parts.netloc:
        raise ConfigError("STORAGE_URL names no bucket: use s3://BUCKET/PREFIX?endpoint=https://HOST")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if unknown := sorted(set(options) - set(S3_OPTIONS)):
        raise ConfigError(f"STORAGE_URL has {unknown[0]!r}, which is no option: use endpoint=... and region=...")
    endpoint = options.get("endpoint")
    if endpoint is not None and urlsplit(endpoint).scheme not in ("http", "https"):
        raise ConfigError("STORAGE_URL has an endpoint that is no address: use endpoint=https://HOST")
    return StorageLocation(
        bucket=parts.netloc, prefix=unquote(parts.path).strip("/"), endpoint=endpoint, region=options.get("region")
    )


def s3_options(found: StorageLocation) -> dict[str, object]:
    """Arguments of django-storages' ``S3Storage``."""
    return {
        "bucket_name": found.bucket,
        "location": found.prefix,
        "endpoint_url": found.endpoint,
        "region_name": found.region or "us-east-1",
        "max_memory_size": MEMORY_BYTES,
    }
