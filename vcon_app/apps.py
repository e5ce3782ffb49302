from django.apps import AppConfig


class VconConfig(AppConfig):
    name = "vcon_app"
    verbose_name = "Imports and exports"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Tells the desk where its sessions came from; it must not depend on this app to know."""
        from sessions_app.queries.sessions import provenance as desk

        from .queries import provenance

        desk.register(provenance.provenance_of)
