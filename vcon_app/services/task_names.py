"""Names of this app's Celery tasks, for ``task_queue.enqueue``: tasks call services, so services cannot import them."""

from __future__ import annotations

RUN_IMPORT = "vcon_app.tasks.run_import"
RUN_EXPORT = "vcon_app.tasks.run_export"
CHECK_SIGNATURES = "vcon_app.tasks.check_signatures"
TELL_SPANS = "vcon_app.tasks.tell_spans"
READ_FILE = "vcon_app.tasks.read_file"
