"""Text of one file through a session, as far as the calls tell it, and what differs between two of its versions.

The text is kept as regions. One that begins with the file and is whole is everything; else the regions are what the
edits showed, and the rest of the file is not in the session. Each line knows which version brought it or took it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sessions_app.rendering.diff import Row

from .change import Change, Edit
from .lines import matches, split

MOST_LINES = 200_000
"""Lines of a file that are put together; of a longer one nothing is said but that it is longer."""
MOST_WORK = 80_000_000
"""Characters that are looked through for the edits of one file, some 0.5 s with short lines."""
OVERLAP = 200
"""Lines by which two edits are found to overlap."""
TELLING = 8
"""Letters and figures that lines in common hold at least for two edits to be of one place: "}" stands anywhere."""
CONTEXT = 3


@dataclass(slots=True, eq=False)
class Line:
    text: str
    by: int = 0
    """Version that brought it; 0: it stood there before."""
    gone: int = 0
    """Version that took it out; 0: it is still there."""


@dataclass(slots=True, eq=False)
class Region:
    """Lines that stand together, before and now."""

    lines: list[Line]
    base: list[Line]
    at: int | None = None
    """Number of its first line in the file now, where that is known."""
    is_whole: bool = False
    is_apart: bool = False
    """Whether it did not fit what was known of the file."""

    def texts(self) -> list[str]:
        return [line.text for line in self.lines]

    def put(self, start: int, end: int, new: Sequence[str], version: int) -> None:
        """Put other lines in the place of some; those that are in both stay the same lines."""
        old = self.lines[start:end]
        kept = {j: i for i, j in matches([line.text for line in old], new)}
        for line in {*range(len(old))} - set(kept.values()):
            old[line].gone = version
        self.lines[start:end] = [
            old[kept[j]] if j in kept else Line(text, by=version) for j, text in enumerate(new)
        ]  # fmt: skip

    def extend(self, before: Sequence[str], after: Sequence[str]) -> None:
        """Lines around it that became known, and were there all the while."""
        front, back = [Line(text) for text in before], [Line(text) for text in after]
        self.lines[:0], self.base[:0] = front, front
        self.lines += back
        self.base += back
        if self.at is not None:
            self.at -= len(front)


@dataclass(frozen=True, slots=True)
class Hunk:
    """Rows that changed, with their surroundings; ``versions`` made them."""

    rows: tuple[Row, ...]
    versions: tuple[int, ...]
    is_apart: bool = False


@dataclass(frozen=True, slots=True)
class NetDiff:
    """What differs between two versions of a file."""

    hunks: tuple[Hunk, ...]
    is_whole: bool
    """Whether the text of the file is known from its first line to its last."""

    @property
    def added(self) -> int:
        return sum(row.mark == "+" for hunk in self.hunks for row in hunk.rows)

    @property
    def removed(self) -> int:
        return sum(row.mark == "-" for hunk in self.hunks for row in hunk.rows)


@dataclass(slots=True)
class History:
    """A file, changed version by version."""

    regions: list[Region] = field(default_factory=list)
    work: int = 0
    is_too_much: bool = False
    """Whether the limit of work was met: what comes after is not put together."""
    misfits: list[int] = field(default_factory=list)
    """Versions whose edits do not fit what was known: something else changed the file between."""
    unknown: list[int] = field(default_factory=list)
    """Versions of which the session does not tell the text."""
    lost: list[int] = field(default_factory=list)
    """Versions that wrote the file whole, or deleted it, where what stood in it before is not known."""

    def see(self, content: str) -> None:
        """Take the whole text of the file, as it was read before it was changed."""
        self._begin(split(content), 0)

    def apply(self, change: Change, version: int) -> None:
        """Change the file as a call says that it did."""
        if self.is_too_much:
            return
        if change.content is not None and change.kind != "seen":
            self._write(change, split(change.content), version)
        elif change.kind == "deleted":
            self._delete(change, version)
        elif not change.is_known:
            if not (change.was and any(region.is_whole for region in self.regions)):  # moved as it was
                self.unknown.append(version)
        else:
            is_whole = any(region.is_whole for region in self.regions)
            for edit in change.edits if is_whole or not change.hunks else change.hunks:
                self._edit(edit, version)
        self.is_too_much |= sum(len(region.lines) for region in self.regions) > MOST_LINES or self.work > MOST_WORK

    def freeze(self) -> None:
        """Take the text as it is now for what was there before."""
        for region in self.regions:
            region.lines = [Line(line.text) for line in region.lines]
            region.base = list(region.lines)

    def text(self) -> str | None:
        """The whole text as it is now, or None where it is not known for sure."""
        whole = [region for region in self.regions if region.is_whole]
        if not whole or self.misfits or self.unknown or self.is_too_much:
            return None
        return "".join(f"{line.text}\n" for line in whole[0].lines)

    def diff(self) -> NetDiff:
        """What differs between the text before and the text now."""
        regions = sorted(self.regions, key=lambda region: (region.at is None, region.at or 0))
        hunks: list[Hunk] = []
        shift = 0
        for region in regions:
            start = None if region.at is None else region.at - shift
            hunks += _hunks(region, start)
            shift += len(region.lines) - len(region.base)
        return NetDiff(tuple(hunks), any(region.is_whole for region in self.regions) and not self.misfits)

    def _begin(self, texts: list[str], version: int) -> Region:
        lines = [Line(text, by=version) for text in texts]
        region = Region(lines, [] if version else list(lines), at=1, is_whole=True)
        self.regions.append(region)
        return region

    def _write(self, change: Change, texts: list[str], version: int) -> None:
        whole = next((region for region in self.regions if region.is_whole), None)
        if whole:
            self.regions = [whole]  # what did not fit is overwritten, too
            whole.put(0, len(whole.lines), texts, version)
            return
        if not self.regions and change.hunks and (before := _undone(change.hunks, texts)) is not None:
            self._begin(before, 0).put(0, len(before), texts, version)
            return
        if change.kind != "created" or self.regions:
            self.lost.append(version)
        known = [line for region in self.regions for line in region.base]
        self.regions = []
        region = self._begin([line.text for line in known], 0)
        region.put(0, len(known), texts, version)

    def _delete(self, change: Change, version: int) -> None:
        if not self.regions and change.edits:  # a patch tells what it takes away
            self._begin([text for edit in change.edits for text in split(edit.old)], 0)
        if not any(region.is_whole for region in self.regions):
            self.lost.append(version)
        for region in self.regions:
            region.put(0, len(region.lines), [], version)

    def _edit(self, edit: Edit, version: int) -> None:
        if edit.everywhere and edit.old:
            found = [region for region in self.regions if self._replaced(region, edit, version, most=10_000)]
            if found:
                return
        elif any(self._replaced(region, edit, version, most=1) for region in self._nearest(edit)):
            return
        known = [region for region in self.regions if not region.is_apart]
        if any(region.is_whole for region in known):
            if not edit.old and edit.line is None:
                self.unknown.append(version)
            elif version not in self.misfits:
                self.misfits.append(version)
        elif any(self._replaced(region, edit, version, most=1) for region in self._widened(known, edit)):
            return
        self._apart(edit, version)

    def _apart(self, edit: Edit, version: int) -> None:
        """A place of the file that no other edit has shown so far."""
        lines = [Line(text) for text in split(edit.old)]
        is_apart = any(region.is_whole for region in self.regions)
        region = Region(list(lines), lines, None if is_apart else edit.line, is_apart=is_apart)
        region.put(0, len(lines), split(edit.new), version)
        self._shift(edit.line, len(region.lines) - len(region.base))
        self.regions.append(region)

    def _shift(self, line: int | None, more: int, but: Region | None = None) -> None:
        """Move the regions behind a line down by as many as were added."""
        for region in self.regions:
            if line is not None and region is not but and region.at is not None and region.at > line:
                region.at += more

    def _nearest(self, edit: Edit) -> list[Region]:
        """Regions in which an edit may be, the one at its line first."""
        if edit.line is None:
            return self.regions
        return sorted(
            self.regions, key=lambda region: abs(region.at - edit.line) if region.at and edit.line else MOST_LINES
        )

    def _replaced(self, region: Region, edit: Edit, version: int, most: int) -> bool:
        """Replace text in a region; False when it does not hold it."""
        if not edit.old:
            return self._inserted(region, edit, version)
        texts = region.texts()
        text = "\n".join(texts)
        self.work += len(text)
        if edit.whole_lines:
            return self._replaced_lines(region, edit, version, texts)
        found = _place(text, edit.old, _offset(texts, region, edit))
        if found < 0 and edit.old.endswith("\n"):  # at the end of a file, which has no empty line here
            text += "\n"
            found = text.find(edit.old)
        if found < 0:
            return False
        last = text.rfind(edit.old) if most > 1 else found
        start = text.rfind("\n", 0, found) + 1
        end = text.find("\n", last + len(edit.old))
        end = len(text) if end < 0 else end
        new = text[start:end].replace(edit.old, edit.new, most) if most > 1 else (
            text[start:found] + edit.new + text[found + len(edit.old) : end]
        )  # fmt: skip
        first, lines = text.count("\n", 0, start), text.count("\n", start, end) + 1
        self._put(
            region, first, min(first + lines, len(texts)), split(new) if end == len(text) else new.split("\n"), version
        )
        return True

    def _replaced_lines(self, region: Region, edit: Edit, version: int, texts: list[str]) -> bool:
        """Replace lines from beginning to end, as a hunk names them."""
        text, old = "\n" + "\n".join(texts) + "\n", split(edit.old)
        found = _place(text, "\n" + "\n".join(old) + "\n", _offset(texts, region, edit))
        if found >= 0:
            first = text.count("\n", 0, found)
            self._put(region, first, first + len(old), split(edit.new), version)
        return found >= 0

    def _put(self, region: Region, start: int, end: int, new: list[str], version: int) -> None:
        """Put lines into a region, and move the regions behind it."""
        region.put(start, end, new, version)
        self._shift(None if region.at is None else region.at + start, len(new) - (end - start), region)

    def _inserted(self, region: Region, edit: Edit, version: int) -> bool:
        """Put lines in at a line whose number is told, or into a file that is known to be empty."""
        index = 0 if region.is_whole and not region.lines else -1
        if edit.line is not None and region.at is not None and not region.is_apart:
            index = edit.line - region.at
        if not 0 <= index <= len(region.lines):
            return False
        self._put(region, index, index, split(edit.new), version)
        return True

    def _widened(self, known: Sequence[Region], edit: Edit) -> Iterator[Region]:
        """Regions that hold what an edit replaces once the lines are added that it shows around them."""
        if joined := self._joined(edit):
            yield joined
            return
        yield from (region for region in known if self._extended(region, edit))

    def _joined(self, edit: Edit) -> Region | None:
        """One region of those that an edit covers or touches by its line numbers, with the lines between them.

        None where the edit says nothing of its place, or says otherwise of the lines than what is known.
        """
        if edit.line is None or not edit.old:
            return None
        old, first = split(edit.old), edit.line
        last = first + len(old)
        near = [
            (region, region.at)
            for region in self.regions
            if region.at is not None and not region.is_apart
            and region.at <= last and first <= region.at + len(region.lines)
        ]  # fmt: skip
        near.sort(key=lambda found: found[1])
        merged = Region([], [], at=min([first, *(at for _, at in near)]))
        done = first
        for region, at in near:
            low, high = max(first, at), min(last, at + len(region.lines))
            if region.texts()[low - at : high - at] != old[low - first : high - first]:
                return None
            merged.extend([], old[done - first : max(0, at - first)])
            merged.lines += region.lines
            merged.base += region.base
            done = max(done, at + len(region.lines))
        merged.extend([], old[done - first :])
        gone = {id(region) for region, _ in near}
        self.regions = [region for region in self.regions if id(region) not in gone] + [merged] * bool(near)
        return merged if near else None

    def _extended(self, region: Region, edit: Edit) -> bool:
        """Add to a region the lines around it that an edit shows, where both have lines in common."""
        old, texts = split(edit.old), region.texts()
        self.work += len(edit.old)
        if edit.line is not None and region.at is not None:
            return False  # numbers tell, see ``_joined``
        for count in range(min(len(old), len(texts), OVERLAP), 1, -1):
            if texts[-count:] == old[:count] and _is_telling(old[:count]):
                region.extend([], old[count:])
                return True
            if old[-count:] == texts[:count] and _is_telling(old[-count:]):
                region.extend(old[:-count], [])
                return True
        start = _within(texts, old) if _is_telling(texts) else -1
        if start >= 0:
            region.extend(old[:start], old[start + len(texts) :])
        return start >= 0


def _undone(hunks: Sequence[Edit], now: list[str]) -> list[str] | None:
    """The lines before a patch that led to those now; None when the patch does not fit."""
    before = list(now)
    for hunk in reversed(hunks):
        new, text = f"\n{hunk.new}", "\n" + "\n".join(before) + "\n"
        found = text.rfind(new)
        if found < 0 or not hunk.new:
            return None
        before = split((text[:found] + f"\n{hunk.old}" + text[found + len(new) :])[1:])
    return before


def _place(text: str, old: str, near: int) -> int:
    """Where a text stands, of several places the nearest one to ``near``."""
    first = text.find(old, near)
    before = text.rfind(old, 0, near + len(old)) if near else -1
    if first < 0 or before < 0:
        return max(first, before)
    return first if first - near <= near - before else before


def _offset(texts: list[str], region: Region, edit: Edit) -> int:
    """Characters before the line that an edit names."""
    if edit.line is None or region.at is None:
        return 0
    return sum(len(text) + 1 for text in texts[: max(0, edit.line - region.at)])


def _within(few: list[str], many: list[str]) -> int:
    """Where some lines stand within others, or -1."""
    if not few or len(few) > len(many):
        return -1
    found = ("\n" + "\n".join(many) + "\n").find("\n" + "\n".join(few) + "\n")
    return -1 if found < 0 else ("\n" + "\n".join(many)).count("\n", 0, found)


def _is_telling(texts: Sequence[str]) -> bool:
    return sum(character.isalnum() for text in texts[:50] for character in text[:200]) >= TELLING


def _hunks(region: Region, start: int | None) -> Iterator[Hunk]:
    """Changed rows of a region with three lines around them; numbers where the region's place is known."""
    marked = list(_marked(region))
    changed = [index for index, (mark, _) in enumerate(marked) if mark != " "]
    groups: list[tuple[int, int]] = []
    for index in changed:
        low, high = max(0, index - CONTEXT), min(len(marked), index + CONTEXT + 1)
        if groups and low <= groups[-1][1]:
            groups[-1] = (groups[-1][0], high)
        else:
            groups.append((low, high))
    numbers = _numbers(marked, start, region.at)
    for low, high in groups:
        rows = tuple(
            Row(mark, line.text, *numbers[index]) for index, (mark, line) in enumerate(marked[low:high], start=low)
        )
        versions = {line.gone if mark == "-" else line.by for mark, line in marked[low:high] if mark != " "}
        yield Hunk(rows, tuple(sorted(versions - {0})), region.is_apart)


def _marked(region: Region) -> Iterator[tuple[str, Line]]:
    """Lines before and now, in one order: taken out before put in; what was taken out and put back is neither."""
    here = {id(line) for line in region.lines}
    anchors = [index for index, line in enumerate(region.base) if id(line) in here]
    ends = {id(region.base[index]): index for index in anchors}
    done_old = done_new = 0
    for index, line in enumerate(region.lines):
        if (old := ends.get(id(line))) is not None:
            yield from _gap(region.base[done_old:old], region.lines[done_new:index])
            yield " ", line
            done_old, done_new = old + 1, index + 1
    yield from _gap(region.base[done_old:], region.lines[done_new:])


def _gap(old: list[Line], new: list[Line]) -> Iterator[tuple[str, Line]]:
    at_old = at_new = 0
    for i, j in [*matches([line.text for line in old], [line.text for line in new]), (len(old), len(new))]:
        yield from (("-", line) for line in old[at_old:i])
        yield from (("+", line) for line in new[at_new:j])
        if i < len(old):
            yield " ", new[j]
        at_old, at_new = i + 1, j + 1


def _numbers(marked: list[tuple[str, Line]], old: int | None, new: int | None) -> list[tuple[int | None, int | None]]:
    """Line numbers before and now of each row."""
    found: list[tuple[int | None, int | None]] = []
    for mark, _ in marked:
        found.append((old if mark != "+" else None, new if mark != "-" else None))
        old = old + 1 if old is not None and mark != "+" else old
        new = new + 1 if new is not None and mark != "-" else new
    return found
