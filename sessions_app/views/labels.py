"""Labels of choices, as models call them, in the language of the page: what is stored and answered stays as it is."""

from __future__ import annotations

from django.utils.functional import lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

LABELS = frozenset((
    _("idle"), _("running"), _("archived"),
    _("chat"), _("schedule"), _("webhook"), _("import"), _("other"),
    _("active"), _("completed"), _("cancelled"), _("crashed"), _("timed out"), _("paused"),
    _("managed"), _("local"), _("scripted"), _("external"), _("built in"),
    _("pending"), _("approved"), _("approved edited"), _("denied"), _("answered"), _("expired"), _("auto allowed"),
    _("auto denied"), _("settled elsewhere"),
    _("person"), _("policy"), _("grant"), _("stop"), _("system"),
    _("1 to 5"), _("yes or no"), _("pass"), _("fail"), _("unsure"), _("withdrawn"), _("waits"), _("accepted"),
    _("declined"),
    _("subscription"), _("purchased"), _("trial"), _("day"), _("all"), _("Day"), _("All"), _("data"), _("Data"),
    _("Subscription"), _("Purchased"), _("Trial"),
    _("viewer"), _("agent"), _("reviewer"), _("admin"), _("Viewer"), _("Agent"), _("Reviewer"), _("Admin"),
    _("wait"), _("deny"), _("refuse to start"), _("skip"), _("once"), _("allow"), _("ask"), _("none"), _("generic"),
    _("Wait"), _("Deny"), _("Skip"), _("Once"), _("Allow"), _("None"), _("Generic"),
    _("reject"), _("allow-list"), _("Reject"),
    _("queued"), _("done"), _("failed"), _("started"), _("skipped"),
    _("certificate"), _("public key"),
    _("low"), _("medium"), _("high"), _("critical"),
    _("in force"), _("revoked"), _("used up"), _("ended"), _("void"),
    _("added"), _("removed"), _("changed"), _("moved"),
    _("name"), _("description"), _("model"), _("instructions"), _("tools"), _("environment"),
    _("Idle"), _("Running"), _("Archived"), _("Chat"), _("Schedule"), _("Webhook"), _("Import"),
    _("digest"), _("email"), _("role"), _("slug"), _("tool"), _("numbers only"), _("reason"), _("note"), _("runtime"),
    _("version"), _("amount"), _("period"), _("format"), _("size"), _("key"), _("member"), _("actor"), _("until"),
    _("any"), _("mixed"), _("api"), _("otlp"), _("slack"), _("metadata"), _("everything"), _("message"),
    _("messages"), _("reasoning"), _("arguments"), _("approval"), _("unknown"), _("user"), _("files"), _("text"),
    _("result"), _("raw"), _("source"), _("usage"), _("filter"), _("outcome"), _("percent"), _("seed"), _("status"),
    _("wanted"), _("user message"), _("agent message"), _("tool call"), _("tool result"), _("turn error"),
    _("injected context"), _("model request"), _("compaction"), _("artifact"), _("file change"), _("handoff"),
    _("people"), _("events"), _("errors"), _("tool calls"),
    _("ok"), _("error"), _("interrupted"), _("turn"), _("session"), _("wallet"), _("skill"),
))  # fmt: skip
"""Those that pages show, in both spellings where both are shown."""


def label(text: str) -> str:
    """The label of a choice in the language of the page; one that nobody has listed as it is."""
    return gettext(text) if text in LABELS else text


lazy_label = lazy(label, str)
"""For forms, whose classes are made before anybody asks for a page."""
