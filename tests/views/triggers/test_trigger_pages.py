"""The pages of triggers: what they show, what their forms do, who may send them."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from sessions_app.models import Agent, Schedule, Session, TriggerRun, WebhookDelivery, WebhookEndpoint
from sessions_app.services import agents, audit
from sessions_app.services.triggers import schedules, webhook_endpoints

from ..build import words
from ..test_query_counts import queries
from ..test_strict_pages import complaints

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202e"
FORM = {
    "name": "Morning report", "agent": "reporter", "cron": "0 9 * * MON-FRI", "timezone": "Europe/Berlin",
    "input_text": "Write the report", "missed": "once", "overlap": "skip",
}  # fmt: skip


@pytest.fixture
def runner(workspace) -> Agent:
    return agents.create(workspace.id, "Reporter", by=audit.SYSTEM, runtime="scripted")


@pytest.fixture
def schedule(runner) -> Schedule:
    fields = {name: value for name, value in FORM.items() if name != "agent"}
    return schedules.create(runner, by=audit.SYSTEM, **fields)


@pytest.fixture
def endpoint(runner) -> WebhookEndpoint:
    return webhook_endpoints.create(runner.workspace_id, "orders", "none", agent=runner, by=audit.SYSTEM)[0]


def post(endpoint: WebhookEndpoint, body: str = '{"type": "paid", "n": 1}', **headers: str) -> WebhookDelivery:
    answer = Client().post(f"/hooks/{endpoint.hook_id}", body, content_type="application/json", headers=headers)
    return WebhookDelivery.objects.get(pk=answer.json()["delivery"])


def page_of(thing: Schedule | WebhookEndpoint | WebhookDelivery) -> str:
    kinds = {Schedule: "schedules", WebhookEndpoint: "webhooks", WebhookDelivery: "deliveries"}
    return f"/triggers/{kinds[type(thing)]}/{thing.pk}/"


# --- schedules --------------------------------------------------------------------------------------------------


def test_without_triggers_the_page_says_what_they_are_for(viewer):
    said = words(viewer.get("/triggers/"))
    assert "No schedules yet" in said and "No webhooks yet" in said and "An admin creates them" in said


def test_an_admin_makes_a_schedule_and_sees_its_next_times(admin, runner):
    assert admin.get("/triggers/schedules/new/?agent=reporter").status_code == 200
    answer = admin.post("/triggers/schedules/new/", FORM, follow=True)
    made = Schedule.objects.get()
    assert (made.agent, made.cron, made.overlap) == (runner, "0 9 * * MON-FRI", "skip")
    said = words(answer)
    assert "Morning report is set." in said and "The next 5 times, Europe/Berlin" in said
    assert len(re.findall(r"\w{3} \d+ \w{3}(?: 20\d\d)?, 09:00 CES?T", said)) == 5
    assert "No runs yet." in said


@pytest.mark.parametrize(("change", "said"), [
    ({"cron": "0 9 * * * *"}, "has 6 fields: use five"),
    ({"cron": "0 0 30 2 *"}, "never comes"),
    ({"timezone": "Europe/Berln"}, "did you mean Europe/Berlin?"),
    ({"agent": "nobody"}, "Select a valid choice"),
    ({"input_text": ""}, "This field is required"),
    ({"name": "Taken"}, "there is a schedule"),
])  # fmt: skip
def test_invalid_schedule_form_shows_errors_and_keeps_the_input(admin, runner, change, said):
    admin.post("/triggers/schedules/new/", FORM | {"name": "Taken"})
    answer = admin.post("/triggers/schedules/new/", FORM | change)
    assert (answer.status_code, Schedule.objects.count()) == (422, 1)
    assert said in words(answer)
    assert 'value="Morning report"' in answer.content.decode() or "name" in change


def test_the_times_are_shown_before_anything_is_kept(admin, viewer, runner):
    said = words(viewer.get("/triggers/schedules/preview?cron=0+9+*+*+*&timezone=Asia/Kathmandu"))
    assert "The next 5 times, Asia/Kathmandu" in said and "+0545" in said
    assert "is no time zone" in words(viewer.get("/triggers/schedules/preview?cron=0+9+*+*+*&timezone=x%00"))
    assert viewer.get("/triggers/schedules/preview").status_code == 200
    answer = admin.post("/triggers/schedules/new/", FORM | {"preview": "1", "name": ""})
    assert answer.status_code == 200 and "The next 5 times, Europe/Berlin" in words(answer)
    assert "required" not in words(answer) and "Write the report</textarea>" in answer.content.decode()
    assert not Schedule.objects.exists()


def test_an_admin_edits_pauses_resumes_and_deletes(admin, schedule):
    page = page_of(schedule)
    assert "Morning report" in words(admin.get(f"{page}edit/"))
    admin.post(f"{page}edit/", FORM | {"cron": "30 8 * * *"})
    assert admin.post(f"{page}switch/", {"enabled": "false", "back": "list"}).url == "/triggers/"
    schedule.refresh_from_db()
    assert (schedule.cron, schedule.enabled, schedule.next_run_at) == ("30 8 * * *", False, None)
    assert "paused" in words(admin.get(page))
    admin.post(f"{page}switch/", {"enabled": "true"})
    schedule.refresh_from_db()
    assert schedule.next_run_at > timezone.now()
    admin.post(f"{page}delete/")
    assert not Schedule.objects.exists()


def test_what_belongs_to_an_archived_agent_is_changed_without_going_to_another(admin, schedule, endpoint, runner):
    agents.create(runner.workspace_id, "A first choice", by=audit.SYSTEM, runtime="scripted")
    agents.change(runner, {"status": "archived"}, by=audit.SYSTEM)
    shown = admin.get(f"{page_of(schedule)}edit/").content.decode()
    assert f'<option value="{runner.slug}" selected>' in shown
    assert f'<option value="{runner.slug}" selected>' in admin.get(page_of(endpoint)).content.decode()
    assert f'value="{runner.slug}"' not in admin.get("/triggers/schedules/new/").content.decode()
    kept = {name: getattr(schedule, name) for name in ("name", "timezone", "input_text", "missed", "overlap")}
    change = kept | {"agent": runner.slug, "cron": "0 5 * * *", "when_asking": "deny"}
    assert admin.post(f"{page_of(schedule)}edit/", change).status_code == 302
    assert admin.post(f"{page_of(endpoint)}change/", change).status_code == 302
    schedule.refresh_from_db()
    endpoint.refresh_from_db()
    assert (schedule.agent, schedule.cron) == (runner, "0 5 * * *")
    assert (endpoint.agent, endpoint.when_asking) == (runner, "deny")


def test_running_it_now_leads_to_the_session_which_says_what_began_it(reviewer, schedule):
    answer = reviewer.post(f"{page_of(schedule)}run/")
    session = Session.objects.get()
    assert answer.url == f"/dashboard/sub-agents/{session.agent_id}/chat/{session.pk}"
    assert "by schedule Morning report" in words(reviewer.get(answer.url))
    facts = reviewer.get(f"{answer.url}/facts")
    assert "started by schedule Morning report run now by Rosa" in words(facts)
    assert page_of(schedule) in facts.content.decode()
    said = words(reviewer.get(page_of(schedule)))
    assert "run now by Rosa" in said and "Started" in said


def test_a_run_that_could_not_begin_says_why(reviewer, schedule, runner):
    agents.change(runner, {"status": "paused"}, by=audit.SYSTEM)
    said = words(reviewer.post(f"{page_of(schedule)}run/", follow=True))
    assert "No session began: Reporter is paused; an admin can resume it" in said
    assert "Skipped" in words(reviewer.get("/triggers/runs/?status=skipped"))
    assert "Morning report" not in words(reviewer.get("/triggers/runs/?status=failed"))


def test_a_schedule_that_missed_its_times_shows_it(viewer, schedule):
    Schedule.objects.update(next_run_at=timezone.now() - timedelta(days=9), updated_at=timezone.now())
    schedules.fire_due()
    assert "passed while nothing ran here" in words(viewer.get(page_of(schedule)))


def test_older_runs_are_a_page_away(viewer, schedule):
    for _ in range(60):
        schedules.run_now(schedule, by=audit.SYSTEM)
    TriggerRun.objects.update(session=None)
    first = viewer.get(page_of(schedule)).content.decode()
    older = re.search(r'href="(\?before=[^"]+)"', first)[1]
    second = viewer.get(page_of(schedule) + older).content.decode()
    assert (first.count("run now by"), second.count("run now by")) == (50, 10)
    assert "?before=" not in second


# --- webhooks ---------------------------------------------------------------------------------------------------


def test_an_admin_makes_a_webhook_and_sees_its_secret_once(admin, runner):
    form = {"name": "github-issues", "scheme": "github", "agent": "reporter"}
    answer = admin.post("/triggers/webhooks/new/", form, follow=True)
    made = WebhookEndpoint.objects.get()
    assert answer.redirect_chain == [(page_of(made), 302)], "a reload makes no other webhook"
    assert made.secret in words(answer) and f"http://testserver/hooks/{made.hook_id}" in words(answer)
    assert answer["Cache-Control"] == "no-store"
    again = words(admin.get(page_of(made)))
    assert made.secret not in again and made.hook_id in again


def test_only_admins_see_the_address(reviewer, endpoint):
    assert endpoint.hook_id not in reviewer.get(page_of(endpoint)).content.decode()


@pytest.mark.parametrize(("form", "said"), [
    ({"name": "A"}, "use 3 to 50 of a-z"), ({"name": "orders"}, "names of endpoints stay reserved"),
    ({"scheme": "pigeon"}, "Select a valid choice"), ({"scheme": "stripe", "secret": "short"}, "use 8 to 500"),
])  # fmt: skip
def test_invalid_webhook_form_shows_the_errors(admin, endpoint, form, said):
    answer = admin.post("/triggers/webhooks/new/", {"name": "another", "scheme": "generic"} | form)
    assert answer.status_code == 422 and said in words(answer)
    assert WebhookEndpoint.objects.count() == 1


def test_a_missing_secret_and_refused_requests_are_plain_to_see(admin, runner):
    made, _ = webhook_endpoints.create(runner.workspace_id, "payments", "stripe", agent=runner, by=audit.SYSTEM)
    Client().post(f"/hooks/{made.hook_id}", "{}", content_type="application/json")
    said = words(admin.get(page_of(made)))
    assert "Everything is refused until you enter the signing secret of the endpoint" in said
    assert "1 request refused and not kept" in said and "no secret yet" in said
    assert "The old secret stops at once" in said
    assert "stripe, secret missing" in words(admin.get("/triggers/"))
    assert "enter the one that Stripe shows" in words(admin.post(f"{page_of(made)}secret/"))
    admin.post(f"{page_of(made)}secret/", {"secret": "whsec_0123456789"})
    assert "refused and not kept" not in words(admin.get(page_of(made)))


def test_a_secret_that_cannot_be_opened_does_not_take_the_pages_with_it(admin, endpoint):
    with connection.cursor() as cursor:
        cursor.execute("UPDATE sessions_app_webhookendpoint SET secret = 'sealed with another key', scheme = 'github'")
    delivery = WebhookDelivery.objects.create(
        workspace_id=endpoint.workspace_id, endpoint_id=endpoint.pk, delivery_id="d", payload={}, size=2
    )
    for path in ("/triggers/", "/triggers/runs/", page_of(endpoint), page_of(delivery)):
        assert admin.get(path).status_code == 200


def test_an_admin_changes_agent_and_deactivates(admin, endpoint):
    page = page_of(endpoint)
    assert "The old address answers 404 at once" in words(admin.get(page))
    admin.post(f"{page}change/", {"agent": ""})
    admin.post(f"{page}switch/", {"active": "false"})
    endpoint.refresh_from_db()
    assert (endpoint.agent, endpoint.active) == (None, False)
    assert "Deactivated" in words(admin.get("/triggers/"))
    assert admin.post(f"{page}change/", {"agent": "nobody"}).status_code == 422
    admin.post(f"{page}switch/", {"active": "true"})
    endpoint.refresh_from_db()
    assert endpoint.active


def test_a_delivery_shows_what_came_and_what_came_of_it(reviewer, endpoint):
    delivery = post(endpoint, Authorization="hush")
    page = reviewer.get(page_of(delivery))
    said = words(page)
    assert '"type": "paid"' in said and "authorization (not kept)" in said and "hush" not in said
    assert "orders: paid" in said and "not yet" in said
    answer = reviewer.post(f"{page_of(delivery)}replay/")
    assert answer.url.startswith("/dashboard/sub-agents/")
    assert "replayed by Rosa" in words(reviewer.get(page_of(delivery)))


def test_deliveries_are_acknowledged_one_or_many(reviewer, endpoint):
    made = [post(endpoint, f'{{"n": {number}}}') for number in range(3)]
    page = page_of(endpoint)
    assert words(reviewer.get(f"{page}?acknowledged=no")).count("unsigned") > 3
    answer = reviewer.post(f"{page}acknowledge/", {"ids": [made[0].pk], "back": made[0].pk}, follow=True)
    assert "1 acknowledged." in words(answer) and "by Rosa" in words(answer)
    ids = [one.pk for one in made] + ["nonsense"]
    assert "2 acknowledged." in words(reviewer.post(f"{page}acknowledge/", {"ids": ids}, follow=True))
    assert "None was chosen" in words(reviewer.post(f"{page}acknowledge/", {}, follow=True))
    assert "None." in words(reviewer.get(f"{page}?acknowledged=no"))


# --- who, and whose ---------------------------------------------------------------------------------------------


def test_a_viewer_reads_and_is_shown_no_form(viewer, schedule, endpoint):
    for path in ("/triggers/", "/triggers/runs/", page_of(schedule), page_of(endpoint), page_of(post(endpoint))):
        html = viewer.get(path).content.decode().split("<main", 1)[1]
        assert "<button" not in html, path


CHANGES = ("schedules/new/", "SCHEDULE/edit/", "SCHEDULE/switch/", "SCHEDULE/delete/", "webhooks/new/",
           "ENDPOINT/change/", "ENDPOINT/switch/", "ENDPOINT/secret/")  # fmt: skip
ACTS = ("SCHEDULE/run/", "ENDPOINT/acknowledge/", "DELIVERY/replay/")


@pytest.fixture
def paths(schedule, endpoint):
    things = {"SCHEDULE": schedule, "ENDPOINT": endpoint, "DELIVERY": post(endpoint)}

    def path(text: str) -> str:
        for name, thing in things.items():
            text = text.replace(f"{name}/", page_of(thing).removeprefix("/triggers/"))
        return f"/triggers/{text}"

    return path


def test_roles_are_kept_apart(viewer, reviewer, paths):
    for act in (*CHANGES, *ACTS):
        assert viewer.post(paths(act)).status_code == 403, act
    for change in CHANGES:
        assert reviewer.post(paths(change), FORM).status_code == 403, change
    assert TriggerRun.objects.count() == 1


def test_another_workspace_finds_nothing(charlie, paths):
    for path in ("SCHEDULE/", "ENDPOINT/", "DELIVERY/"):
        assert charlie.get(paths(path)).status_code == 404
    for path in (*CHANGES, *ACTS):
        if not path.endswith("new/"):
            assert charlie.post(paths(path), FORM).status_code == 404, path
    assert "Morning report" not in words(charlie.get("/triggers/")) + words(charlie.get("/triggers/runs/"))


def test_a_stranger_is_sent_to_the_sign_in(paths):
    for path in ("", "runs/", "SCHEDULE/", "ENDPOINT/", "DELIVERY/", "schedules/new/"):
        assert Client().get(paths(path)).status_code == 302


def test_pages_have_nothing_inline_whatever_came(admin, runner, schedule, endpoint):
    Schedule.objects.update(name=HOSTILE, input_text=HOSTILE)
    Agent.objects.filter(pk=runner.pk).update(name=HOSTILE)
    schedules.run_now(Schedule.objects.get(), by=audit.Actor("member", name=HOSTILE))
    delivery = post(endpoint, f'{{"type": "{HOSTILE.replace(chr(34), "")}"}}', **{"X-Odd": "<img src=x>"})
    pages = [page_of(schedule), page_of(endpoint), page_of(delivery)]
    for path in ("/triggers/", "/triggers/runs/", "/triggers/schedules/new/", "/triggers/webhooks/new/", *pages):
        html = admin.get(path).content.decode()
        assert complaints(html) == [], path
        assert "<script>alert" not in html and "<img" not in html and "\u202e" not in html, path
    assert "&lt;script&gt;" in admin.get(f"{page_of(schedule)}edit/").content.decode()


def test_queries_do_not_grow_with_rows(admin, runner, schedule, endpoint):
    lists = ("/triggers/", "/triggers/runs/", page_of(schedule), page_of(endpoint))

    def fill(start: int, stop: int) -> None:
        for number in range(start, stop):
            fields = {name: value for name, value in FORM.items() if name != "agent"} | {"name": f"Plan {number}"}
            agent = agents.get_or_create_agent(runner.workspace_id, f"Agent {number}")
            schedules.run_now(schedules.create(agent, by=audit.SYSTEM, **fields), by=audit.SYSTEM)
            schedules.run_now(schedule, by=audit.SYSTEM)
            post(
                webhook_endpoints.create(agent.workspace_id, f"hook-{number}", "none", agent=agent, by=audit.SYSTEM)[0]
            )
            post(endpoint, f'{{"n": {number}}}')

    fill(0, 3)
    few = {path: queries(admin, path) for path in lists}
    fill(3, 12)
    assert {path: queries(admin, path) for path in lists} == few
    assert max(few.values()) <= 12
