"""This host and its installation: the same ``SECRET_KEY`` and storage as every other host, or it does not start."""

from __future__ import annotations

from config.errors import ConfigError
from sessions_app.services.upkeep import installation
from vcon_app.services.documents import storage_mark

ACCEPT = "script/manage installation accept"


def check_host() -> None:
    """Compare this host with the installation; the first host marks both. Raises ConfigError with one sentence."""
    _compare()
    if installation.is_marked():
        return
    with installation.locked():  # of two that start at once, the second compares with what the first has marked
        _compare()
        found = installation.row()
        if not found.secret_key_mark:
            installation.keep_secret_key_mark()
        if not found.storage_mark:
            _mark_storage()


def _compare() -> None:
    for fault, remedy in (
        (installation.secret_key_fault(), "give every host the same SECRET_KEY, or restore secret_key from the backup"),
        (storage_mark.storage_fault(), "give every host the same STORAGE_URL, and mount what it names"),
    ):
        if fault and "stored secrets were encrypted" not in fault:  # some are of an older key: the doctor says so
            raise ConfigError(f"{fault}: {remedy}; if it is to be this one from now on, run {ACCEPT}")


def accept() -> None:
    """Make the key and the storage of this host those of the installation. Raises ConfigError."""
    changed = [
        name
        for name, fault in (("SECRET_KEY", installation.secret_key_fault()), ("storage", storage_mark.storage_fault()))
        if fault
    ]
    installation.keep_secret_key_mark()
    _mark_storage()
    installation.record_accepted(changed)


def _mark_storage() -> None:
    try:
        storage_mark.keep_storage_mark()
    except OSError as fault:
        raise ConfigError(f"the storage of the documents cannot be written: {fault.strerror or fault}") from fault
