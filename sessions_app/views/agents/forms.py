"""Forms that define an agent and change its definition. Input is checked here; each change is a new version."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import orjson
from django import forms
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST

from sessions_app.models import Agent, Budget, Role
from sessions_app.policy.faults import Invalid
from sessions_app.services import agents
from sessions_app.services.money import budgets

from .. import access
from .versions import changes_between

RUNTIMES = (
    ("managed", _("Managed Agents at Anthropic"),
     _("Its tools run in a sandbox there. Needs an API key for them.")),
    ("local", _("Here"),
     _("A loop of tools on the Messages API, with MCP servers and Python tools. Needs an API key.")),
    ("scripted", _("Scripted (for testing)"),
     _("No model and no key: it does what a message says.")),
    ("external", _("External"), _("It reports what it does over the API. Nothing is run here.")),
)  # fmt: skip
VERDICTS = (("allow", _("allow")), ("ask", _("ask a person")), ("deny", _("deny")))
STATUSES = {
    "active": _("%(agent)s is at work again."),
    "paused": _("%(agent)s is paused: it begins no turns."),
    "archived": _("%(agent)s is archived."),
}
SPARE_ROWS = 3
MAX_ROWS = 200
MAX_TOOLS = 1_000
TOOLS_EXAMPLE = """[
  {"type": "builtin", "name": "web_search"},
  {"type": "mcp", "name": "shop", "url": "https://mcp.example.com/sse"},
  {"type": "custom", "name": "issue_refund", "description": "Pay a customer back",
   "input_schema": {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}}
]"""
ENVIRONMENT_EXAMPLE = """{"type": "cloud", "networking": {"type": "limited", "allowed_hosts": ["api.example.com"]}}"""


class JsonField(forms.CharField):
    """JSON as people type it, of one type; an empty field is the empty value of that type."""

    widget = forms.Textarea

    def __init__(self, kind: type, word: str) -> None:
        super().__init__(required=False, max_length=1_000_000, strip=True)
        self.kind, self.word = kind, word

    def clean(self, value: Any) -> Any:
        typed = super().clean(value)
        try:
            read = orjson.loads(typed) if typed else self.kind()
        except orjson.JSONDecodeError as error:
            raise forms.ValidationError(gettext("this is no JSON: %(error)s") % {"error": error}) from None
        if not isinstance(read, self.kind):
            raise forms.ValidationError(gettext("this has to be %(word)s") % {"word": self.word})
        return read


class AgentForm(forms.Form):
    """A definition, without the rows of its policy: see ``policy_of``."""

    name = forms.CharField(max_length=200)
    description = forms.CharField(max_length=10_000, required=False)
    model = forms.CharField(max_length=200, required=False)
    instructions = forms.CharField(max_length=1_000_000, required=False, strip=False)
    tools = JsonField(list, "a list: [ … ]")
    environment = JsonField(dict, _("an object: { … }"))
    policy_default = forms.ChoiceField(choices=VERDICTS, initial="ask")
    expires_minutes = forms.IntegerField(min_value=1, max_value=30 * 24 * 60, required=False)

    def clean_instructions(self) -> str:
        return self.cleaned_data["instructions"].replace("\r\n", "\n").strip()  # browsers send CRLF

    def clean_tools(self) -> list[Any]:
        tools = self.cleaned_data["tools"]
        if len(tools) > MAX_TOOLS:
            raise forms.ValidationError(
                gettext("at most %(max_tools)s tools, these are %(tools)s")
                % {"max_tools": f"{MAX_TOOLS:,}", "tools": f"{len(tools):,}"}
            )
        for number, tool in enumerate(tools, start=1):
            name = (tool.get("name") or tool.get("server")) if isinstance(tool, dict) else tool
            if not isinstance(name, str) or not name.strip():
                raise forms.ValidationError(
                    gettext('tool %(number)s has no name; each is a name or an object with "name"') % {"number": number}
                )
        return tools

    def __init__(self, *args: Any, may_grant: bool, **known: Any) -> None:
        super().__init__(*args, **known)
        if not may_grant:
            for name in ("tools", "environment", "policy_default", "expires_minutes"):
                del self.fields[name]


class NewAgentForm(AgentForm):
    runtime = forms.ChoiceField(choices=[(value, title) for value, title, *_rest in RUNTIMES], initial="local")


class BudgetForm(forms.Form):
    budget = forms.DecimalField(min_value=Decimal(0), max_value=budgets.MOST, decimal_places=6, required=False)


@require_http_methods(["GET", "HEAD", "POST"])
@access.reviewer
def create(request: access.DeskRequest) -> HttpResponse:
    """Define a new agent."""
    may_grant = _may_grant(request)
    form = NewAgentForm(request.POST or None, may_grant=may_grant)
    budget = BudgetForm(request.POST or None)
    rows, row_error = _rows_typed(request.POST)
    if request.method == "POST" and form.is_valid() and budget.is_valid() and not row_error:
        fields = _definition(form, rows, {}) | {"runtime": form.cleaned_data["runtime"]}
        try:
            name, by = fields.pop("name"), access.actor(request)
            made = agents.create(request.member.workspace_id, name, by=by, may_grant=may_grant, **fields)
        except agents.NameTaken as taken:
            form.add_error("name", str(taken))
        except Invalid as invalid:
            row_error = str(invalid)
        else:
            _set_budget(request, made, budget)
            messages.success(request, gettext("%(name)s is defined.") % {"name": made.name})
            return redirect("agent-detail", made.slug)
    return _form(request, None, form, budget, rows, row_error)


@require_http_methods(["GET", "HEAD", "POST"])
@access.reviewer
def edit(request: access.DeskRequest, slug: str) -> HttpResponse:
    """Change a definition: a new version. 409 with what changed when somebody was quicker."""
    agent, may_grant = access.agent_read(request, slug), _may_grant(request)
    if request.method != "POST":
        form = AgentForm(initial=_initial(agent), may_grant=may_grant)
        budget = BudgetForm(initial={"budget": _budget_of(agent)})
        return _form(request, agent, form, budget, _rows_of(agent.policy), "")
    form, budget = AgentForm(request.POST, may_grant=may_grant), BudgetForm(request.POST)
    rows, row_error = _rows_typed(request.POST)
    if not form.is_valid() or not budget.is_valid() or row_error:
        return _form(request, agent, form, budget, rows, row_error)
    sent = request.POST.get("version", "")
    seen = int(sent) if sent.isascii() and sent.isdigit() and len(sent) < 10 else 0
    try:
        wanted, by = _definition(form, rows, agent.policy), access.actor(request)
        changed = agents.change(agent, wanted, by=by, seen=seen, may_grant=may_grant)
    except agents.Stale as stale:
        return _form(request, stale.agent, form, budget, rows, "", stale=stale, seen=seen)
    except agents.BuiltIn as fixed:
        form.add_error("name", str(fixed))
        return _form(request, agent, form, budget, rows, "")
    except Invalid as invalid:
        return _form(request, agent, form, budget, rows, str(invalid))
    _set_budget(request, changed, budget)
    if changed.version > agent.version:
        messages.success(
            request, gettext("Version %(version)s is saved. New sessions run under it.") % {"version": changed.version}
        )
    return redirect("agent-detail", changed.slug)


@require_POST
@access.reviewer
def change_status(request: access.DeskRequest, slug: str) -> HttpResponse:
    """Pause, resume or archive."""
    agent = access.agent_read(request, slug)
    status = request.POST.get("status", "")
    if status in STATUSES:
        agents.change(agent, {"status": status}, by=access.actor(request))
        messages.success(request, STATUSES[status] % {"agent": agent.name})
    return redirect("agent-detail", agent.slug)


def _form(
    request: access.DeskRequest, agent: Agent | None, form: AgentForm, budget: BudgetForm, rows: list[tuple[str, str]],
    row_error: str, stale: agents.Stale | None = None, seen: int = 0,
) -> HttpResponse:  # fmt: skip
    context = {
        "agent": agent, "form": form, "budget": budget, "rows": [*rows, *[("", "ask")] * SPARE_ROWS],
        "row_error": row_error, "runtimes": RUNTIMES, "verdicts": VERDICTS, "stale": stale,
        "changes": changes_between(agent, seen, agent.version) if agent and stale else [],
        "tools_example": TOOLS_EXAMPLE, "environment_example": ENVIRONMENT_EXAMPLE,
        "may_budget": request.member.role == Role.ADMIN, "may_grant": _may_grant(request),
    }  # fmt: skip
    status = 409 if stale else 422 if form.errors or budget.errors or row_error else 200
    return render(request, "agents/form.html", context, status=status)


def _initial(agent: Agent) -> dict[str, Any]:
    policy = agent.policy
    return {
        "name": agent.name, "description": agent.description, "model": agent.model,
        "instructions": agent.instructions, "tools": _typed(agent.tools), "environment": _typed(agent.environment),
        "policy_default": policy.get("default", "ask"),
        "expires_minutes": _minutes(policy),
    }  # fmt: skip


def _minutes(policy: dict[str, Any]) -> int | None:
    """How long a policy waits for an answer, in whole minutes, as the form has it; programs say seconds."""
    seconds = policy.get("expires_in")
    return max(1, seconds // 60) if isinstance(seconds, int) else None


def _typed(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() if value else ""


def _definition(form: AgentForm, rows: list[tuple[str, str]], before: dict[str, Any]) -> dict[str, Any]:
    """The fields of a definition that the form holds: without what the agent may do for who may not set that."""
    names = ("name", "description", "model", "instructions", "tools", "environment")
    values = {name: form.cleaned_data[name] for name in names if name in form.fields}
    if "policy_default" in form.fields:
        values["policy"] = policy_of(form.cleaned_data, rows, before)
    return values


def _may_grant(request: access.DeskRequest) -> bool:
    """Whether the member sets what an agent may do: its policy, tools and environment."""
    return request.member.role == Role.ADMIN


def policy_of(entered: dict[str, Any], rows: list[tuple[str, str]], before: dict[str, Any]) -> dict[str, Any]:
    """Policy of the form. Defaults that were and are left out stay left out, so that no new version is made; so do
    seconds that the form shows as minutes and that nobody changed.
    """
    policy = dict(before)
    policy |= {"default": entered["policy_default"], "tools": dict(rows)}
    if not entered["expires_minutes"]:
        policy.pop("expires_in", None)
    elif entered["expires_minutes"] != _minutes(before):
        policy["expires_in"] = 60 * entered["expires_minutes"]
    if "default" not in before and policy["default"] == "ask":
        del policy["default"]
    if "tools" not in before and not rows:
        del policy["tools"]
    return policy


def _rows_of(policy: dict[str, Any]) -> list[tuple[str, str]]:
    tools = policy.get("tools")
    return [(str(name), str(said)) for name, said in tools.items()] if isinstance(tools, dict) else []


def _rows_typed(sent: QueryDict) -> tuple[list[tuple[str, str]], str]:
    """Rows with a name, and what is wrong with them."""
    pairs = zip(sent.getlist("policy_tool"), sent.getlist("policy_verdict"), strict=False)
    rows = [(name.strip(), said) for name, said in pairs if name.strip()]
    names = [name for name, _said in rows]
    if len(rows) > MAX_ROWS:
        return rows[:MAX_ROWS], gettext(
            "at most %(max_rows)s tools can be named here; use the default for the others"
        ) % {"max_rows": MAX_ROWS}
    if twice := next((name for name in names if names.count(name) > 1), None):
        return rows, gettext('"%(twice)s" is named twice; keep one of the two rows') % {"twice": twice}
    known = {value for value, _words in VERDICTS}
    if odd := next((said for _name, said in rows if said not in known), None):
        return rows, gettext('"%(odd)s" is no choice; it is allow, ask or deny') % {"odd": odd}
    return rows, ""


def _budget_of(agent: Agent) -> str:
    daily = _daily(agent)
    return f"{daily.amount.normalize():f}" if daily else ""


def _daily(agent: Agent) -> Budget | None:
    return Budget.objects.filter(agent=agent, session=None, period=Budget.Period.DAY).first()


def _set_budget(request: access.DeskRequest, agent: Agent, form: BudgetForm) -> None:
    """Set the daily budget. Money is for admins; of others the field is not read."""
    if request.member.role != Role.ADMIN:
        return
    amount, before, by = form.cleaned_data["budget"], _daily(agent), access.actor(request)
    if amount is None and before:
        budgets.remove(before, by=by)
    elif amount is not None and (before is None or before.amount != amount):
        budgets.set_budget(agent.workspace_id, amount, Budget.Period.DAY, by=by, agent=agent)
