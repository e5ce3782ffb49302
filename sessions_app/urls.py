"""Pages of the desk, in small lists named after their noun. JSON routes are in ``api``."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver

urlpatterns: list[URLPattern | URLResolver] = []
