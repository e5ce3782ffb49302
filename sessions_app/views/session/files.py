"""Files that a session changed: their tree, and one file with its net diff and its versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from sessions_app.changes.history import Hunk
from sessions_app.changes.paths import is_outside
from sessions_app.models import ChangedFile, FileScan, Session
from sessions_app.queries.log import file_changes as queries
from sessions_app.queries.log.file_changes import FileView, Version
from sessions_app.rendering.text import clean
from sessions_app.services.log import file_changes

from .. import access
from ..pages import page_or_fragment
from .addresses import fragment, number, session_at

NAMED = 8
"""Files that the card of a session names."""
ROWS = 1_500
"""Rows of a diff on one page."""
WORDS = {
    "created": _("created"), "written": _("written whole"), "edited": _("edited"), "deleted": _("deleted"),
    "renamed": _("renamed"), "shell": _("by a command"), "stated": _("stated only"), "failed": _("no edit succeeded"),
}  # fmt: skip
LETTERS = {"created": "A", "written": "W", "edited": "M", "deleted": "D", "renamed": "R", "shell": "$", "failed": "!"}


@dataclass(slots=True)
class Folder:
    """A folder of the tree with what is in it; folders that hold nothing but one folder are one row with it."""

    name: str
    folders: dict[str, Folder] = field(default_factory=dict)
    files: list[Leaf] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A file of the tree."""

    name: str
    file: ChangedFile
    url: str

    @property
    def word(self) -> str:
        return str(WORDS.get(self.file.kind, self.file.kind))

    @property
    def letter(self) -> str:
        return LETTERS.get(self.file.kind, "?")

    @property
    def is_counted(self) -> bool:
        """Whether its lines are known: an edit of which a span tells only that it was adds up to none."""
        return self.file.kind not in ("shell", "stated", "failed") and bool(self.file.added or self.file.removed)


@dataclass(frozen=True, slots=True)
class Note:
    """Something that is not known of a file, with the versions that it is about."""

    text: str
    versions: list[Version] = field(default_factory=list)


@require_safe
@access.viewer
def index(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """The page of all files, one of them open: ``?path=`` or the first that was edited, up to ``?version=``, from
    ``?from=`` on."""
    session = session_at(request, agent_id, session_id)
    is_read = file_changes.read_on(session.pk)
    path, after = (request.GET.get(name, "").replace("\0", "") for name in ("path", "after"))
    scan = queries.scan_of(session.pk)
    if not (path or after) and scan is not None and scan.files:
        first = next(iter(queries.first_files(session.pk, 1)), None)
        path = first.path if first and (scan.files == 1 or not queries.is_only_named(first)) else ""
    context: dict[str, Any] = {"session": session, "is_read": is_read, "scan": scan}
    if path:
        context |= _opened(session, path, request.GET, is_read)
    context["files_url"] = _files_url(session)
    if request.headers.get("HX-Target") != "file":
        found = queries.files_of(session.pk, after)
        more = {"after": found.items[-1].path} if found.more else None
        context |= {"tree": tree(found.items, context["files_url"], after), "chosen": path, "after": after}
        context["more_url"] = f"?{urlencode(more)}" if more else ""
    return page_or_fragment(request, "sessions/files/index.html", "sessions/files/_file.html", context)


@dataclass(frozen=True, slots=True)
class Named:
    """The files that the card of a session names, and how many there are besides."""

    leaves: list[Leaf]
    more: int
    url: str


def named(session: Session, scan: FileScan | None) -> Named | None:
    """The first files of a session in the order of their paths; None where none is known to have changed."""
    if scan is None or not scan.files:
        return None
    leaves = [leaf_of(session, file) for file in queries.first_files(session.pk, NAMED)]
    return Named(leaves, max(0, scan.files - len(leaves)), _files_url(session))


def leaf_of(session: Session, file: ChangedFile) -> Leaf:
    """A file of a session by itself, outside of its tree."""
    return Leaf(_name_of(file), file, f"{_files_url(session)}?{urlencode({'path': file.path})}")


def _name_of(file: ChangedFile) -> str:
    return file.path.rstrip("/").rsplit("/", 1)[-1] or file.path


@require_safe
@access.viewer
def link(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """The link to the files beside the session, with what they came to so far; and their names for its card."""
    session = session_at(request, agent_id, session_id)
    file_changes.read_on(session.pk)
    scan = queries.scan_of(session.pk)
    context = {"session": session, "scan": scan, "for_card": named(session, scan)}
    response = fragment(request, "sessions/files/_link.html", context, gettext("Files changed"))
    if scan and (scan.added or scan.removed):
        response.headers["HX-Trigger"] = "files-known"  # the outline says so of each turn
    return response


def tree(files: Iterable[ChangedFile], base: str, after: str = "") -> Folder:
    """Files by their folders."""
    root = Folder("")
    files = list(files)
    within = {file.path[: at + 1] for file in files for at, sign in enumerate(file.path[:-1]) if sign == "/"}
    for file in files:
        if file.path in within:  # mkdir: its folder stands there with what is in it
            continue
        *folders, name = file.path.rstrip("/").split("/")
        here = root
        for part in _merged(folders, file.path):
            here = here.folders.setdefault(part, Folder(part))
        asked = {"path": file.path} | ({"after": after} if after else {})
        here.files.append(Leaf(name + "/" * file.path.endswith("/"), file, f"{base}?{urlencode(asked)}"))
    return _flat(root)


def _merged(folders: list[str], path: str) -> Iterator[str]:
    """Names of folders, those beyond the eighth in one; an absolute path begins with one that says so."""
    named = ["/", *folders[1:]] if path.startswith("/") else folders
    yield from named[:8]
    if named[8:]:
        yield "/".join(named[8:])


def _flat(folder: Folder) -> Folder:
    """A folder whose only content is a folder becomes one row with it: ``src/app``."""
    made: dict[str, Folder] = {}
    for each in folder.folders.values():
        inner = _flat(each)
        if len(inner.folders) == 1 and not inner.files:
            (only,) = inner.folders.values()
            inner = Folder(f"{inner.name.rstrip('/')}/{only.name}", only.folders, only.files)
        made[inner.name] = inner
    return Folder(folder.name, made, folder.files)


def _opened(session: Session, path: str, asked: Any, is_read: bool) -> dict[str, Any]:
    """What the page shows of one file. 404 where the session changed no such file."""
    view = queries.file_at(session, path, number(asked.get("version")), number(asked.get("from")) or 0)
    if view is None:
        if is_read:
            raise Http404(gettext("This session changed no such file."))
        return {"is_late": True}
    shown, hidden = _shown(view.diff.hunks)
    made = {version.number: version for version in view.versions if version.number}
    return {
        "view": view,
        "word": WORDS.get(view.file.kind, view.file.kind),
        "is_outside": is_outside(view.file.path),
        "hunks": [(hunk, [made[each] for each in hunk.versions if each in made]) for hunk in shown],
        "hidden_rows": hidden,
        "notes": _notes(view, made),
        "steps": _steps(session, view),
    }


def _steps(session: Session, view: FileView) -> dict[str, str]:
    """Addresses of other versions, where there are any."""
    base = f"{_files_url(session)}?{urlencode({'path': view.file.path})}"
    at, last = view.until, view.last
    found = {"base": base, "whole": base if view.since or at != last else ""}
    found["previous"] = f"{base}&version={at - 1}" if at > 0 else ""
    found["next"] = f"{base}&version={at + 1}" if at < last else ""
    found["alone"] = f"{base}&version={at}&from={at - 1}" if at > 1 and view.since != at - 1 else ""
    return found


def _files_url(session: Session) -> str:
    return reverse("session-files", args=[session.agent_id, session.pk])


def _shown(hunks: Iterable[Hunk]) -> tuple[list[Hunk], int]:
    """The first hunks, of ``ROWS`` rows together, and how many rows are behind them."""
    shown: list[Hunk] = []
    room, hidden = ROWS, 0
    for hunk in hunks:
        if room:
            shown.append(Hunk(hunk.rows[:room], hunk.versions, hunk.is_apart))
        hidden += max(0, len(hunk.rows) - room)
        room = max(0, room - len(hunk.rows))
    return shown, hidden


def _notes(view: FileView, made: dict[int, Version]) -> list[Note]:
    """What is not known, in sentences."""

    def of(numbers: Iterable[int], kinds: tuple[str, ...] = ()) -> list[Version]:
        found = (made[each] for each in numbers if each in made)
        return [version for version in found if not kinds or version.row.kind in kinds]

    shell, stated = of(view.unknown, ("shell",)), of(view.unknown, ("stated",))
    others = [version for version in of(view.unknown) if version not in shell + stated]
    notes = [
        Note(gettext("A shell command wrote, moved or deleted it: what it held from then on is not known."), shell),
        Note(gettext("Stated by the recorder, without contents."), stated),
        Note(gettext("The call does not tell what it changed, or is too long to be read."), others),
        Note(gettext("What stood in the file before is not in this session."), of(view.lost)),
        Note(
            gettext(
                "Does not fit the text known until then, so something else changed the file in between. Shown apart."
            ),
            of(view.misfits),
        ),
    ]
    notes = [note for note in notes if note.versions]
    if view.known_from:
        notes.append(
            Note(
                gettext("It was moved from %(known_from)s, and is seen against the text known there.")
                % {"known_from": clean(view.known_from)}
            )
        )
    if view.diff.hunks and not view.diff.is_whole:
        notes.append(
            Note(gettext("Shown are the places that the edits name; the rest of the file is not in this session."))
        )
    if view.is_cut:
        notes.append(
            Note(
                gettext("Only the first %(versions)s changes, up to a limit of text, are put together.")
                % {"versions": queries.VERSIONS}
            )
        )
    return notes
