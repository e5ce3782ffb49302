"""The page of an agent has what it costs by day: a picture with its scale, and the same as a table."""

from __future__ import annotations

import re
from datetime import timedelta

from django.utils import timezone

from sessions_app.models import Session
from tests.views.money.spending import ran

from ..build import words
from ..test_query_counts import queries


def test_days_stand_with_their_cost_and_lead_to_their_sessions(admin, agent):
    today = timezone.now()
    for days, cost in ((0, "0.50"), (0, "0.25"), (3, "3.00"), (90, "8.00")):
        ran(agent, cost, at=today - timedelta(days=days), here=False)
    dear, day = today - timedelta(days=3), f"{today:%Y-%m-%d}"
    page = admin.get(f"/agents/{agent.slug}/")
    shown, html = words(page), page.content.decode()
    assert f"today at the right; the line is $3.00, on {dear.day} {dear:%b}" in shown
    assert re.findall(r'height="(\d+)"></rect>\s*<title>', html) == ["40", "10"]
    table = html[html.index("cost-days") :]
    assert re.findall(r"<td[^>]*>(?:<span[^>]*>)?([$\d.]+)", table[: table.index("</table>")]) == [
        "$0.75",
        "2",
        "$3.00",
        "1",
    ]
    (url,) = {found for found in re.findall(r'href="([^"]*used_from=[^"]*)"', html) if day in found}
    listed = admin.get(url.replace("&amp;", "&"))
    assert len(re.findall(r'id="row-', listed.content.decode())) == 2


def test_a_day_whose_price_is_partly_known_says_so(admin, agent):
    ran(agent, "2.00", here=False)
    ran(agent, None, model="nobody-prices-this", here=False)
    assert "the line is ≥ $2.00" in words(admin.get(f"/agents/{agent.slug}/"))


def test_without_a_known_cost_there_is_no_scale(admin, agent):
    ran(agent, None, model="nobody-prices-this", here=False)
    shown = words(admin.get(f"/agents/{agent.slug}/"))
    assert "No cost is known of the last" in shown and "the line is" not in shown


def test_an_agent_without_usage_of_late_leads_to_all_of_it(admin, agent):
    ran(agent, "2.00", at=timezone.now() - timedelta(days=200), here=False)
    html = admin.get(f"/agents/{agent.slug}/").content.decode()
    assert f"?agent={agent.slug}&amp;from=ever" in html and "cost-days" not in html


def test_more_sessions_ask_nothing_more(admin, agent):
    ran(agent, "1.00", here=False)
    path = f"/agents/{agent.slug}/"
    before = queries(admin, path)
    for number in range(10):
        ran(agent, "1.00", at=timezone.now() - timedelta(days=number), here=False)
    assert Session.objects.count() == 11 and queries(admin, path) <= before
