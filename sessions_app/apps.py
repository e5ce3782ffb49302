from django.apps import AppConfig


class SessionsConfig(AppConfig):
    name = "sessions_app"
    label = "sessions_app"
    verbose_name = "Agent sessions"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Join what is above the log to it."""
        from .services.approvals import superseded
        from .services.log import events

        if superseded.end_superseded not in events.AFTER_APPEND:
            events.AFTER_APPEND.append(superseded.end_superseded)
