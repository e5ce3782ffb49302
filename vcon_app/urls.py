"""Pages of imports and exports."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from .views import demo, imports, source, trust

import_urls = [
    path("imports/", imports.index, name="import-list"),
    path("imports/<uuid:import_id>/", imports.detail, name="import-detail"),
    path("imports/<uuid:import_id>/document", imports.document, name="import-document"),
]

trust_urls = [
    path("settings/trust/", trust.add, name="trust-add"),
    path("settings/trust/<uuid:anchor_id>/remove/", trust.remove, name="trust-remove"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    *import_urls,
    *trust_urls,
    path("demo/", demo.load, name="demo-load"),
    path("sessions/<uuid:session_id>/events/<int:seq>/source", source.event_source, name="event-source"),
]
