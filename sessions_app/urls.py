"""Pages of the desk, in small lists named after their noun. JSON routes are in ``api``."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from .views import agents, approvals, audit, decisions, event, home, session, sessions, settings, sign_in

sign_in_urls = [
    path("sign-in/", sign_in.form, name="sign-in"),
    path("sign-in/password/", sign_in.password, name="password-set"),
    path("sign-in/<str:token>/", sign_in.link, name="sign-in-link"),
    path("sign-out/", sign_in.sign_out, name="sign-out"),
]

PAGE = "dashboard/sub-agents/<uuid:agent_id>/chat/<uuid:session_id>"
session_urls = [
    path("sessions/", sessions.index, name="session-list"),
    path(PAGE, session.page, name="session-detail"),
    path(f"{PAGE}/rows", session.rows, name="session-rows"),
    path(f"{PAGE}/outline", session.outline_rows, name="session-outline"),
    path(f"{PAGE}/head", session.head, name="session-head"),
    path(f"{PAGE}/facts", session.facts, name="session-facts"),
    path(f"{PAGE}/find", session.find, name="session-find"),
    path(f"{PAGE}/next", session.next_mark, name="session-next"),
    path(f"{PAGE}/archive", session.archive, name="session-archive"),
    path(f"{PAGE}/message", session.message, name="session-message"),
    path(f"{PAGE}/events/<int:seq>", event.inspector, name="event-inspector"),
    path(f"{PAGE}/events/<int:seq>/body", event.body, name="event-body"),
    path(f"{PAGE}/events/<int:seq>/whole", event.whole, name="event-whole"),
]

agent_urls = [
    path("agents/", agents.index, name="agent-list"),
    path("agents/<slug:slug>/", agents.detail, name="agent-detail"),
]

approval_urls = [
    path("approvals/", approvals.index, name="approval-list"),
    path("approvals/count", approvals.count, name="approval-count"),
    path("approvals/<uuid:approval_id>/", decisions.card, name="approval-detail"),
    path("approvals/<uuid:approval_id>/decision", decisions.decide, name="approval-decide"),
]

settings_urls = [
    path("settings/", settings.index, name="settings"),
    path("settings/members/", settings.add_member, name="member-add"),
    path("settings/members/<uuid:member_id>/role/", settings.change_role, name="member-role"),
    path("settings/members/<uuid:member_id>/link/", settings.new_link, name="member-link"),
    path("settings/members/<uuid:member_id>/remove/", settings.remove_member, name="member-remove"),
    path("settings/keys/", settings.create_key, name="api-key-create"),
    path("settings/keys/<uuid:key_id>/revoke/", settings.revoke_key, name="api-key-revoke"),
    path("settings/workspace/", settings.rename, name="workspace-rename"),
    path("settings/workspace/switch/", settings.switch, name="workspace-switch"),
    path("audit/", audit.index, name="audit-list"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", home.index, name="home"),
    *sign_in_urls,
    *session_urls,
    *agent_urls,
    *approval_urls,
    *settings_urls,
]
