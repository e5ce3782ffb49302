"""Pages of the desk, in small lists named after their noun. JSON routes are in ``api``."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from .views import audit, compare, home, oversight, search, session_list, sign_in, sign_in_links, stops
from .views.agents import agents, build, forms, versions
from .views.approvals import attention, batch, decisions, handling, inbox, reasons, stream
from .views.graph import forms as graph_forms
from .views.graph import pages as graph
from .views.money import tool_calls, usage, wallets
from .views.policies import editor, grants
from .views.policies import pages as policies
from .views.reviews import box, comments, queues, rubrics, saved_views
from .views.session import (
    chat,
    continuation,
    cost,
    event,
    files,
    lenses,
    media,
    page,
    replay,
    retention_page,
    strip,
    waterfall,
)
from .views.settings import (
    absences,
    finding_rules,
    notices,
    outgoing_webhooks,
    push,
    retention,
    secrets,
    slack,
    workspace,
)
from .views.triggers import schedules, webhook_endpoints, webhook_receiver

sign_in_urls = [
    path("sign-in/", sign_in.form, name="sign-in"),
    path("sign-in/password/", sign_in.password, name="password-set"),
    path("sign-in/<str:token>/", sign_in_links.link, name="sign-in-link"),
    path("invitations/<str:token>/", sign_in_links.invitation, name="invitation"),
    path("sign-out/", sign_in.sign_out, name="sign-out"),
]

PAGE = "dashboard/sub-agents/<uuid:agent_id>/chat/<uuid:session_id>"
session_urls = [
    path("sessions/", session_list.index, name="session-list"),
    path("search/", search.index, name="search"),
    path("sessions/compare/", compare.index, name="session-compare"),
    path("sessions/lens", lenses.choose, name="lens-choice"),
    path("sessions/strips", strip.small, name="session-strips"),
    path("sessions/views/", saved_views.save, name="view-save"),
    path("sessions/views/<uuid:view_id>/rename/", saved_views.rename, name="view-rename"),
    path("sessions/views/<uuid:view_id>/remove/", saved_views.remove, name="view-remove"),
    path("sessions/columns/", saved_views.columns, name="list-columns"),
    path("sessions/columns/widths/", saved_views.widths, name="list-widths"),
    path("sessions/do/", saved_views.do, name="session-bulk"),
    path(PAGE, page.page, name="session-detail"),
    path(f"{PAGE}/context", lenses.context, name="session-context"),
    path(f"{PAGE}/rows", page.rows, name="session-rows"),
    path(f"{PAGE}/outline", page.outline_rows, name="session-outline"),
    path(f"{PAGE}/head", page.head, name="session-head"),
    path(f"{PAGE}/overview", page.overview, name="session-overview"),
    path(f"{PAGE}/facts", page.facts, name="session-facts"),
    path(f"{PAGE}/cost", cost.index, name="session-cost"),
    path(f"{PAGE}/files", files.index, name="session-files"),
    path(f"{PAGE}/files/link", files.link, name="session-files-link"),
    path(f"{PAGE}/graph", graph.of_session, name="session-graph"),
    path(f"{PAGE}/graph/decision", graph_forms.record, {"kind": "decision"}, name="decision-record"),
    path(f"{PAGE}/graph/evidence", graph_forms.record, {"kind": "evidence"}, name="evidence-record"),
    path(f"{PAGE}/graph/<uuid:node_id>/status", graph_forms.change_status, name="decision-status"),
    path(f"{PAGE}/strip", strip.index, name="session-strip"),
    path(f"{PAGE}/waterfall", waterfall.index, name="session-waterfall"),
    path(f"{PAGE}/replay", replay.steps, name="session-replay"),
    path(f"{PAGE}/find", page.find, name="session-find"),
    path(f"{PAGE}/next", page.next_mark, name="session-next"),
    path(f"{PAGE}/marks", page.marked, name="session-marks"),
    path(f"{PAGE}/archive", page.archive, name="session-archive"),
    path(f"{PAGE}/retention", retention_page.page, name="session-retention"),
    path(f"{PAGE}/standing", chat.turn_state, name="session-turn-state"),
    path(f"{PAGE}/message", chat.message, name="session-message"),
    path(f"{PAGE}/interrupt", chat.interrupt, name="session-interrupt"),
    path(f"{PAGE}/retry", chat.retry, name="session-retry"),
    path(f"{PAGE}/go-on", chat.go_on, name="session-go-on"),
    path(f"{PAGE}/queued/<uuid:message_id>/take-back", chat.take_back, name="session-take-back"),
    path(f"{PAGE}/continue", continuation.page, name="session-continue"),
    path(f"{PAGE}/review", box.box, name="session-review"),
    path(f"{PAGE}/verdict", box.verdict, name="session-verdict"),
    path(f"{PAGE}/verdict/withdraw", box.withdraw, name="session-verdict-withdraw"),
    path(f"{PAGE}/assign", box.assign, name="session-assign"),
    path(f"{PAGE}/seen", box.mark_seen, name="session-seen"),
    path(f"{PAGE}/comments", comments.add, name="session-comment"),
    path(f"{PAGE}/comments/<uuid:comment_id>", comments.change, name="session-comment-change"),
    path(f"{PAGE}/events/<int:seq>", event.inspector, name="event-inspector"),
    path(f"{PAGE}/events/<int:seq>/kept", event.kept, name="event-kept"),
    path(f"{PAGE}/events/<int:seq>/body", event.body, name="event-body"),
    path(f"{PAGE}/events/<int:seq>/whole", event.whole, name="event-whole"),
    path(f"{PAGE}/events/<int:seq>/media", media.index, name="event-media"),
    path(f"{PAGE}/events/<int:seq>/media/<int:number>", media.piece, name="event-media-piece"),
]

agent_urls = [
    path("agents/", agents.index, name="agent-list"),
    path("agents/+/", forms.create, name="agent-create"),  # no slug has a "+"
    path("agents/<slug:slug>/", agents.detail, name="agent-detail"),
    path("agents/<slug:slug>/chat/", chat.begin, name="agent-chat"),
    path("agents/<slug:slug>/build/", build.begin, name="agent-build"),
    path("agents/<slug:slug>/graph/", graph.of_agent, name="agent-graph"),
    path("agents/<slug:slug>/edit/", forms.edit, name="agent-edit"),
    path("agents/<slug:slug>/status/", forms.change_status, name="agent-status"),
    path("agents/<slug:slug>/versions/", versions.index, name="agent-versions"),
    path("agents/<slug:slug>/versions/<int:version>/", versions.detail, name="agent-version"),
]

approval_urls = [
    path("approvals/", inbox.index, name="approval-list"),
    path("approvals/more", inbox.more_lines, name="approval-more"),
    path("approvals/lines", inbox.lines, name="approval-lines"),
    path("approvals/cards", inbox.cards, name="approval-cards"),
    path("approvals/batch", batch.batch, name="approval-batch"),
    path("approvals/reasons/", reasons.index, name="reason-list"),
    path("approvals/reasons/<uuid:reason_id>/remove/", reasons.remove, name="reason-remove"),
    path("approvals/stream", stream.stream, name="approval-stream"),
    path("approvals/count", inbox.count, name="approval-count"),
    path("approvals/<uuid:approval_id>/", decisions.card, name="approval-detail"),
    path("approvals/<uuid:approval_id>/led", inbox.led_here, name="approval-led"),
    path("approvals/<uuid:approval_id>/handle", handling.handle, name="approval-handle"),
    path("approvals/<uuid:approval_id>/seen", attention.seen, name="approval-seen"),
    path("approvals/<uuid:approval_id>/secrets", attention.show_secrets, name="approval-secrets"),
    path("approvals/<uuid:approval_id>/decision", decisions.decide, name="approval-decide"),
    path("approvals/<uuid:approval_id>/withdraw", decisions.withdraw, name="approval-withdraw"),
]

QUEUE = "reviews/queues/<uuid:queue_id>/"
review_urls = [
    path("reviews/", queues.index, name="review-list"),
    path("reviews/verdicts.csv", queues.verdicts_csv, name="verdict-csv"),
    path(QUEUE, queues.queue, name="review-queue"),
    path(f"{QUEUE}progress", queues.progress, name="review-queue-progress"),
    path(f"{QUEUE}next", queues.take_next, name="review-queue-next"),
    path(f"{QUEUE}close", queues.close, name="review-queue-close"),
    path("settings/findings/", finding_rules.index, name="finding-rules"),
    path("settings/rubrics/", rubrics.index, name="rubric-list"),
    path("settings/rubrics/<uuid:rubric_id>/retire/", rubrics.retire, name="rubric-retire"),
]

usage_urls = [
    path("usage/", usage.index, name="usage"),
    path("usage/table.csv", usage.table_csv, name="usage-csv"),
    path("usage/wallets/", wallets.index, name="wallets"),
    path("usage/wallets/<str:kind>.csv", wallets.entries_csv, name="wallet-csv"),
    path("usage/wallets/<str:kind>/credit/", wallets.credit, name="wallet-credit"),
    path("usage/budgets/", wallets.set_budget, name="budget-set"),
    path("usage/budgets/<uuid:budget_id>/remove/", wallets.remove_budget, name="budget-remove"),
    path("usage/calls/", tool_calls.index, name="call-list"),
    path("usage/calls.csv", tool_calls.table_csv, name="call-csv"),
]

stop_urls = [
    path("stops/", stops.index, name="stop-list"),
    path("stops/strip", stops.strip, name="stop-strip"),
    path("stops/<uuid:stop_id>/lift/", stops.lift, name="stop-lift"),
]

SCHEDULE = "triggers/schedules/<uuid:schedule_id>/"
WEBHOOK = "triggers/webhooks/<uuid:webhook_id>/"
DELIVERY = "triggers/deliveries/<uuid:delivery_id>/"
trigger_urls = [
    path("hooks/<str:hook_id>", webhook_receiver.receive, name="hook"),
    path("triggers/", schedules.index, name="trigger-list"),
    path("triggers/runs/", schedules.runs, name="trigger-runs"),
    path("triggers/schedules/new/", schedules.new_schedule, name="schedule-new"),
    path("triggers/schedules/preview", schedules.preview, name="schedule-preview"),
    path(SCHEDULE, schedules.schedule, name="schedule-detail"),
    path(f"{SCHEDULE}edit/", schedules.edit_schedule, name="schedule-edit"),
    path(f"{SCHEDULE}switch/", schedules.switch_schedule, name="schedule-switch"),
    path(f"{SCHEDULE}run/", schedules.run_schedule, name="schedule-run"),
    path(f"{SCHEDULE}delete/", schedules.delete_schedule, name="schedule-delete"),
    path("triggers/webhooks/new/", webhook_endpoints.new, name="webhook-new"),
    path(WEBHOOK, webhook_endpoints.endpoint, name="webhook-detail"),
    path(f"{WEBHOOK}change/", webhook_endpoints.change, name="webhook-change"),
    path(f"{WEBHOOK}switch/", webhook_endpoints.switch, name="webhook-switch"),
    path(f"{WEBHOOK}secret/", webhook_endpoints.rotate, name="webhook-secret"),
    path(f"{WEBHOOK}acknowledge/", webhook_endpoints.acknowledge, name="webhook-acknowledge"),
    path(DELIVERY, webhook_endpoints.delivery, name="delivery-detail"),
    path(f"{DELIVERY}replay/", webhook_endpoints.replay, name="delivery-replay"),
]

slack_urls = [
    path("settings/slack/", slack.index, name="slack"),
    path("settings/slack/connect/", slack.connect, name="slack-connect"),
    path("settings/slack/add/", slack.add, name="slack-add"),
    path("settings/slack/<uuid:installation_id>/", slack.configure, name="slack-configure"),
    path("settings/slack/<uuid:installation_id>/disconnect/", slack.disconnect, name="slack-disconnect"),
    path("slack/oauth_redirect", slack.added, name="slack-added"),
    path("slack/events", slack.events, name="slack-events"),
    path("slack/interactions", slack.events, name="slack-interactions"),
    path("slack/commands", slack.events, name="slack-commands"),
]

OUTGOING_WEBHOOK = "settings/webhooks/<uuid:webhook_id>/"
notice_urls = [
    path("service-worker.js", push.service_worker, name="service-worker"),
    path("manifest.webmanifest", push.manifest, name="manifest"),
    path("settings/notices/", notices.choice, name="notice-choice"),
    path("settings/notices/browsers/", push.subscribe, name="push-subscribe"),
    path("settings/notices/browsers/<uuid:subscription_id>/test/", push.test, name="push-test"),
    path("settings/notices/browsers/<uuid:subscription_id>/remove/", push.remove, name="push-remove"),
    path("settings/webhooks/", outgoing_webhooks.index, name="outgoing-webhooks"),
    path("settings/webhooks/new/", outgoing_webhooks.create, name="outgoing-webhook-create"),
    path(OUTGOING_WEBHOOK, outgoing_webhooks.webhook, name="outgoing-webhook"),
    path(f"{OUTGOING_WEBHOOK}change/", outgoing_webhooks.change, name="outgoing-webhook-change"),
    path(f"{OUTGOING_WEBHOOK}switch/", outgoing_webhooks.switch, name="outgoing-webhook-switch"),
    path(f"{OUTGOING_WEBHOOK}secret/", outgoing_webhooks.rotate, name="outgoing-webhook-rotate"),
    path(f"{OUTGOING_WEBHOOK}test/", outgoing_webhooks.test, name="outgoing-webhook-test"),
    path(
        f"{OUTGOING_WEBHOOK}messages/<uuid:message_id>/again/",
        outgoing_webhooks.send_again,
        name="outgoing-message-again",
    ),
    path(f"{OUTGOING_WEBHOOK}remove/", outgoing_webhooks.remove, name="outgoing-webhook-remove"),
]

settings_urls = [
    path("settings/", workspace.index, name="settings"),
    path("settings/members/", workspace.add_member, name="member-add"),
    path("settings/members/<uuid:member_id>/role/", workspace.change_role, name="member-role"),
    path("settings/members/<uuid:member_id>/link/", workspace.new_link, name="member-link"),
    path("settings/invitations/<uuid:invitation_id>/withdraw/", workspace.withdraw, name="invitation-withdraw"),
    path("settings/members/<uuid:member_id>/remove/", workspace.remove_member, name="member-remove"),
    path("settings/keys/", workspace.create_key, name="api-key-create"),
    path("settings/keys/<uuid:key_id>/revoke/", workspace.revoke_key, name="api-key-revoke"),
    path("settings/secrets/", secrets.add, name="secret-add"),
    path("settings/secrets/anthropic/", secrets.set_provider_key, name="provider-key-set"),
    path("settings/secrets/<uuid:secret_id>/replace/", secrets.replace, name="secret-replace"),
    path("settings/secrets/<uuid:secret_id>/remove/", secrets.remove, name="secret-remove"),
    path("settings/retention/", retention.index, name="retention"),
    path("settings/retention/keep/", retention.keep, name="retention-keep"),
    path("settings/absences/", absences.index, name="absence-list"),
    path("settings/absences/<uuid:absence_id>/remove/", absences.remove, name="absence-remove"),
    path("settings/workspace/", workspace.rename, name="workspace-rename"),
    path("settings/workspace/switch/", workspace.switch, name="workspace-switch"),
    path("settings/policies/", policies.index, name="policy"),
    path("settings/policies/new", editor.edit, name="policy-edit"),
    path("settings/policies/shadow/end/", policies.end_shadow, name="policy-shadow-end"),
    path("settings/policies/versions/<int:number>/", policies.version, name="policy-version"),
    path("settings/policies/versions/<int:number>/publish/", policies.publish, name="policy-publish"),
    path("settings/policies/versions/<int:number>/shadow/", policies.put_in_shadow, name="policy-shadow"),
    path("settings/grants/", grants.index, name="grant-list"),
    path("settings/grants/<uuid:grant_id>/revoke/", grants.revoke, name="grant-revoke"),
    path("approvals/<uuid:approval_id>/always", grants.make, name="grant-make"),
    path("audit/", audit.index, name="audit-list"),
    path("oversight/", oversight.index, name="oversight"),
    path("oversight/planted-calls/", oversight.plant, name="oversight-plant"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("", home.index, name="home"),
    *sign_in_urls,
    *session_urls,
    *agent_urls,
    *approval_urls,
    *review_urls,
    *stop_urls,
    *usage_urls,
    *trigger_urls,
    *settings_urls,
    *notice_urls,
    *slack_urls,
]
