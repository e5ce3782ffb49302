"""What an address asks for and a page does not have is told, and never left out in silence."""

from __future__ import annotations

import pytest

from sessions_app.models import Approval

from ..build import session_of, words


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/triggers/runs/?status=odd", '"odd" is no status; use one of'),
        ("/triggers/runs/?before=odd", "start from its beginning"),
        ("/oversight/?days=odd", '"odd" is no days; use one of 7, 30, 90'),
        ("/usage/wallets/?wallet=odd", '"odd" is no wallet; use one of ai, data'),
        ("/agents/refund-agent/versions/?from=odd", '"odd" is no version; use its number'),
        ("/agents/refund-agent/versions/?to=-1", '"-1" is no version; use its number'),
        ("/agents/refund-agent/versions/?below=1e3", '"1e3" is no version; use its number'),
    ],
)
def test_a_value_that_means_nothing_is_told(admin, agent, path, told):
    answer = admin.get(path)
    assert answer.status_code == 404 and told in words(answer)


@pytest.mark.parametrize("value", ["odd", "-1", "1e3", "٣", "0", "9" * 40])
@pytest.mark.parametrize(
    "path",
    [
        "/agents/?page=", "/agents/?sort=-cost&page=", "/triggers/?page=", "/triggers/?webhooks=", "/stops/?before=",
        "/settings/retention/?after=", "/settings/retention/keep/?after=", "/imports/?before=", "/audit/?before=",
        "/agents/refund-agent/graph/?before=", "/approvals/more?after=", "/usage/wallets/?before=",
        "/usage/calls/?before=",
    ],
)  # fmt: skip
def test_a_list_that_cannot_be_gone_on_with_says_so(admin, agent, path, value):
    answer = admin.get(path + value)
    assert answer.status_code == 404 and "This part of the list cannot be found" in words(answer)
    assert admin.get(path).status_code == 200, "an empty value is none"


def test_a_page_behind_the_last_is_the_last(admin, agent):
    assert "Refund agent" in words(admin.get("/agents/?page=7"))


def test_what_is_told_of_it_is_short(admin, workspace):
    """Anybody can send somebody an address."""
    lie = "Your session has ended. Call us. " * 50
    for path in ("/triggers/runs/?status=", "/oversight/?days=", "/imports/?status=", "/imports/?batch="):
        assert words(admin.get(path + lie)).count("Call us") <= 2, path


def test_a_form_with_a_nul_is_refused_where_it_stands(admin, agent):
    """Three forms answered 500 to one: the database refuses what holds it."""
    session = session_of(agent)
    for path, form in (
        ("/oversight/planted-calls/", {"agent": "refund-agent\0", "tool": "t"}),
        ("/imports/", {"agent": "refund-agent\0"}),
        (f"/sessions/{session.pk}/redact/make/", {"encrypt_for": "a\0b"}),
    ):
        assert admin.post(path, form).status_code in (302, 404, 422), path
    assert not Approval.objects.exists()
