"""The addresses of the whole site."""

from django.urls import include, path

from config import health, metrics
from config.api import api
from config.web import routes

handler400 = "config.web.error_pages.handler400"
handler404 = "config.web.error_pages.handler404"
handler500 = "config.web.unavailable.handler500"

urlpatterns = [
    routes.quick(
        [
            path("healthz", health.healthz, name="healthz"),
            path("readyz", health.readyz, name="readyz"),
            path("metrics", metrics.metrics, name="metrics"),
            path("", include("sessions_app.urls")),
            path("", include("vcon_app.urls")),
            path("", api.urls),
        ]
    )
]
