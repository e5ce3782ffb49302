from django.apps import AppConfig


class VconConfig(AppConfig):
    name = "vcon_app"
    verbose_name = "Imports and exports"
    default_auto_field = "django.db.models.BigAutoField"
