"""Pages of imports and exports."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from .api.mcp import door
from .views import (
    demo,
    erasure,
    evidence,
    exports,
    file_parts,
    graph,
    imports,
    receipts,
    redacted_file,
    redaction_draft,
    registrations,
    share_links,
    shared,
    source,
    trust,
)

import_urls = [
    path("imports/", imports.index, name="import-list"),
    path("imports/batches/<uuid:batch_id>/", imports.batch, name="import-batch"),
    path("imports/<uuid:import_id>/", imports.detail, name="import-detail"),
    path("imports/<uuid:import_id>/document", imports.document, name="import-document"),
    path("imports/<uuid:import_id>/raw", imports.raw, name="import-raw"),
]

trust_urls = [
    path("settings/trust/", trust.add, name="trust-add"),
    path("settings/trust/<uuid:anchor_id>/remove/", trust.remove, name="trust-remove"),
]

redaction_urls = [
    path("sessions/<uuid:session_id>/redact/", redaction_draft.page, name="redaction"),
    path("sessions/<uuid:session_id>/redact/events/", redaction_draft.tick, name="redaction-tick"),
    path("sessions/<uuid:session_id>/redact/kinds/", redaction_draft.kinds, name="redaction-kinds"),
    path("sessions/<uuid:session_id>/redact/words/", redaction_draft.words, name="redaction-words"),
    path("sessions/<uuid:session_id>/redact/preview/", redaction_draft.preview, name="redaction-preview"),
    path("sessions/<uuid:session_id>/redact/discard/", redaction_draft.discard, name="redaction-discard"),
    path("sessions/<uuid:session_id>/redact/make/", redaction_draft.make, name="redaction-make"),
    path("sessions/<uuid:session_id>/redactions/<uuid:redaction_id>/", redacted_file.detail, name="redacted"),
    path(
        "sessions/<uuid:session_id>/redactions/<uuid:redaction_id>/accept/",
        redacted_file.accept,
        name="redacted-accept",
    ),
    path("sessions/<uuid:session_id>/redactions/<uuid:redaction_id>/more/", redacted_file.more, name="redacted-more"),
    path(
        "sessions/<uuid:session_id>/redactions/<uuid:redaction_id>/choose/",
        redacted_file.choose,
        name="redacted-choose",
    ),
]

SHARE = "sessions/<uuid:session_id>/share/"
share_urls = [
    path("share/<str:secret>/", shared.page, name="shared"),
    path(SHARE, share_links.page, name="share-links"),
    path(f"{SHARE}<uuid:link_id>/withdraw/", share_links.withdraw, name="share-link-withdraw"),
    path(f"{SHARE}<uuid:link_id>/accept/", share_links.accept, name="share-link-accept"),
    path("settings/share-links/", share_links.switch, name="share-link-switch"),
]

erasure_urls = [
    path("sessions/<uuid:session_id>/delete/", erasure.session_page, name="session-delete"),
    path("imports/<uuid:import_id>/delete/", erasure.import_page, name="import-delete"),
    path("audit/export", evidence.audit_file, name="audit-export"),
    path("audit/evidence", evidence.evidence_pack, name="evidence-pack"),
    path("audit/deleted/<uuid:subject_id>/", erasure.tombstone_page, name="tombstone"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("mcp", door.serve, name="mcp"),
    path("mcp/recording", door.serve_recording, name="mcp-recording"),
    *import_urls,
    *trust_urls,
    *redaction_urls,
    *share_urls,
    *erasure_urls,
    path("approvals/<uuid:approval_id>/receipt", receipts.download, name="approval-receipt"),
    path("agents/<slug:slug>/graph.upg", graph.download, name="agent-graph-file"),
    path("demo/", demo.load, name="demo-load"),
    path("sessions/<uuid:session_id>/export/formats", exports.formats, name="export-formats"),
    path("sessions/<uuid:session_id>/export/report", exports.report, name="export-report"),
    path("sessions/<uuid:session_id>/exports", exports.taken, name="exports-taken"),
    path(
        "sessions/<uuid:session_id>/registrations/<uuid:registration_id>/receipt",
        registrations.download,
        name="registration-receipt",
    ),
    path("sessions/<uuid:session_id>/file-parts", file_parts.index, name="file-parts"),
    path("sessions/<uuid:session_id>/events/<int:seq>/source", source.event_source, name="event-source"),
]
