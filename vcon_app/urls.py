"""Pages of imports and exports."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from .views import demo, imports, source

import_urls = [
    path("imports/", imports.index, name="import-list"),
    path("imports/<uuid:import_id>/", imports.detail, name="import-detail"),
    path("imports/<uuid:import_id>/document", imports.document, name="import-document"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    *import_urls,
    path("demo/", demo.load, name="demo-load"),
    path("sessions/<uuid:session_id>/events/<int:seq>/source", source.event_source, name="event-source"),
]
