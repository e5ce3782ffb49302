from django.apps import AppConfig


class VconConfig(AppConfig):
    name = "vcon_app"
    verbose_name = "Imports and exports"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Fills the extension slots of the desk, which must not depend on this app."""
        from sessions_app import extensions as slots

        from .api.mcp.for_members import desk_tools
        from .queries.provenance import provenance_of, sessions_of
        from .services.documents.event_values import record_of
        from .views import parts

        slots.register(slots.PROVENANCE, provenance_of)
        slots.register(slots.IMPORTED, sessions_of)
        slots.register(slots.EVENT_RECORD, record_of)
        slots.register(slots.SESSION_ACTIONS, parts.export_menu)
        slots.register(slots.SESSION_LINE, parts.source_line)
        slots.register(slots.SESSION_NOTICES, parts.source_banner)
        slots.register(slots.SESSION_FACTS, parts.source_facts)
        slots.register(slots.SESSION_FACTS, parts.session_shares)
        slots.register(slots.EVENT_ACTIONS, parts.redact_event)
        slots.register(slots.EVENT_SOURCE, parts.event_source)
        slots.register(slots.EVENT_RAW, parts.event_record)
        slots.register(slots.SETTINGS_SECTIONS, parts.trust_anchors)
        slots.register(slots.SETTINGS_SECTIONS, parts.workspace_shares)
        slots.register(slots.AGENT_GRAPH, parts.graph_file)
        slots.register(slots.DESK_TOOLS, desk_tools)
        slots.register(slots.HOME_START, parts.short_drop_zone)
