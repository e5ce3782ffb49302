"""The worker's part of an import in a process of its own, to be measured from outside."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import monotonic, process_time

import django

django.setup()

from django.utils import timezone  # noqa: E402

from sessions_app.models import Session  # noqa: E402
from sessions_app.services import audit, workspaces  # noqa: E402
from sessions_app.services.log import pricing, search_index  # noqa: E402
from vcon_app import registry  # noqa: E402
from vcon_app.models import Import  # noqa: E402
from vcon_app.services.documents import documents  # noqa: E402
from vcon_app.services.imports import import_jobs  # noqa: E402


def start(path: str) -> None:
    """Take a file in, as an upload does; prints the id of the import."""
    with Path(path).open("rb") as file:
        print(
            import_jobs.start_import(
                workspaces.default_workspace(), path, documents.chunks_of(file), by=audit.COMMAND
            ).pk
        )


def run(import_id: str) -> None:
    """Import it and make it searchable; prints what came of it and what it took as JSON."""
    registry.readers()  # a worker loads the formats and the price table with its first import
    pricing.price("claude-opus-4-5", timezone.now(), (1, 0, 0, 0, 0))
    start_up, began = process_time(), monotonic()
    import_jobs.run(import_id)
    done, imported = monotonic(), Import.objects.get(pk=import_id)
    assert imported.status == Import.Status.DONE, imported.error
    session = Session.objects.get(import_links__imported=imported)
    search_index.index(session.pk)
    counts = {
        "prompts": session.turn_count,
        "tool_calls": session.tool_call_count,
        "output_tokens": session.output_tokens,
    }
    times = {"imported": done - began, "searchable": monotonic() - done}
    print(json.dumps({"counts": counts, "start_up": start_up, "cpu": process_time() - start_up} | times))


if __name__ == "__main__":
    {"start": start, "run": run}[sys.argv[1]](sys.argv[2])
