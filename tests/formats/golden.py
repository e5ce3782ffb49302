"""Golden files: what we make of a sample is kept beside it, and a difference is shown as a diff.

``GOLDEN=write pytest tests/formats`` writes the expectations anew; read the change before you commit it.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO

from vcon_app.drafts import Draft

SUFFIX = ".expected"


def check_reading(sample: Path, read: Callable[[BinaryIO], Iterable[Draft]]) -> None:
    """Read ``sample`` and compare its drafts with ``<sample>.expected``."""
    with sample.open("rb") as source:
        check(sample.with_name(sample.name + SUFFIX), as_text(read(source)))


def check(expectation: Path, text: str) -> None:
    """Compare ``text`` with the stored expectation; fails with a unified diff."""
    if os.environ.get("GOLDEN") == "write":
        expectation.write_text(text, encoding="utf-8")
    assert expectation.exists(), f"{expectation.name} does not exist; GOLDEN=write makes it"
    stored = expectation.read_text(encoding="utf-8")
    diff = difflib.unified_diff(stored.splitlines(), text.splitlines(), expectation.name, "now", lineterm="")
    assert stored == text, "\n".join(diff)


def as_text(drafts: Iterable[Draft]) -> str:
    """Drafts as indented JSON, one after the other; fields that hold their default are left out."""
    return "".join(
        json.dumps(value, indent=1, ensure_ascii=False, default=_plain) + "\n" for value in map(as_dict, drafts)
    )


def as_dict(draft: Any) -> dict[str, Any]:
    return {"": type(draft).__name__, **dict(_set_fields(draft))}


def _set_fields(draft: Any) -> Iterator[tuple[str, Any]]:
    for field in dataclasses.fields(draft):
        value = getattr(draft, field.name)
        default = field.default_factory() if callable(field.default_factory) else field.default
        if value != default:
            yield field.name, dict(_set_fields(value)) if dataclasses.is_dataclass(value) else value


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"{value!r} in a draft")
