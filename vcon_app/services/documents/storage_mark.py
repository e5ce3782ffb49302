"""The mark in the storage: a small object with a random id, by which a host sees that it is the others' storage."""

from __future__ import annotations

from uuid import uuid4

from sessions_app.models import Installation
from sessions_app.services.upkeep import installation

from . import storage

NAME = ".countersign-storage"


def storage_fault() -> str | None:
    """Whether this host has another storage than the installation. A storage that is away is said, too."""
    found = Installation.objects.filter(pk=1).first()
    if found is None or not found.storage_mark:
        return None
    place = storage.of_documents()
    try:
        mark = read_mark(place)
    except OSError as fault:
        return f"the storage of the documents ({place}) does not answer: {fault.strerror or fault}"
    if mark == found.storage_mark:
        return None
    told = "belongs to another installation" if mark else "is not the one that this installation has used so far"
    return f"the storage of the documents ({place}) {told}"


def keep_storage_mark() -> None:
    """Make the storage of this host the installation's. Raises ``OSError`` where it cannot be written."""
    place = storage.of_documents()
    mark = read_mark(place)
    if not mark:
        mark = str(uuid4())
        with storage.incoming(place) as incoming:
            incoming.file.write(mark.encode())
            incoming.keep(NAME)
    Installation.objects.filter(pk=installation.row().pk).update(storage_mark=mark)


def read_mark(place: storage.Storage) -> str:
    """The mark in a storage, empty where there is none."""
    try:
        with place.open(NAME) as file:
            return file.read(100).decode(errors="replace").strip()
    except storage.Missing:
        return ""
