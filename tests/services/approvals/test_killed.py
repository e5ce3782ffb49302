"""``kill -9`` at every step from asked to executed: nothing is lost, told twice, or executed without a decision.

Each step is done by a process of its own that is killed right before its commit, or right after it. Then everything
goes on as it would: clients send their request again, the scheduler looks for what is due.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import OperationalError, connection, connections, transaction
from django.utils import timezone

from sessions_app.models import Approval, AuditEntry, Role, Vote
from sessions_app.queries import chains
from sessions_app.services import audit
from sessions_app.services.approvals import delivery, effects, execution, requests
from sessions_app.services.approvals.decisions import Conflict, NotAllowed
from sessions_app.services.people import api_keys

from ..build import log
from .test_votes import vote

pytestmark = pytest.mark.django_db(transaction=True)
Status = Approval.Status
STEPS = ("asked", "voted", "settled", "delivered", "running", "executed")


class Story:
    """The steps of one approval, each as whoever does it sends it: again, where no answer came."""

    def __init__(self, session, reviewer) -> None:
        self.session, self.reviewer = session, reviewer
        key, _ = api_keys.create_api_key(session.workspace, "bot", Role.AGENT, by=audit.SYSTEM)
        self.asker = audit.Actor("api_key", str(key.pk), "bot")

    @property
    def approval(self) -> Approval:
        return Approval.objects.select_related("session").get()

    def asked(self) -> None:
        question = requests.Question("refund", {"amount": 40}, client_id="c1")
        requests.request(self.session, question, by=self.asker)

    def voted(self) -> None:
        vote(self.approval, self.reviewer, version=1, arguments={"amount": 20}, digest=self.approval.digest)

    def settled(self) -> None:
        Approval.objects.filter(status=Status.PENDING).update(deliver_at=timezone.now() - timedelta(seconds=1))
        effects.settle_due()

    def delivered(self) -> None:
        delivery.mark_delivered(self.approval)

    def running(self) -> None:
        self._report("running")

    def executed(self) -> None:
        self._report("succeeded")

    def _report(self, state: str) -> None:
        digest = self.approval.digest_of_call({"amount": 20})
        execution.report(self.approval, by=self.asker, digest=digest, state=state)


def killed(step: Callable[[], None], *, committed: bool) -> None:
    """Do a step in a process that is killed right after its commit, or right before it."""
    connections.close_all()
    child = os.fork()
    if not child:
        try:
            if committed:
                step()
            else:
                with transaction.atomic():
                    step()
                    os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL


def cut_off(step: Callable[[], None], *, committed: bool) -> None:
    """Do a step whose connection to the database breaks right before its commit, or right after it."""
    with pytest.raises(OperationalError):
        if committed:
            step()
        with transaction.atomic():
            if not committed:
                step()
            connection.connection.close()
            Approval.objects.exists()
    connections.close_all()


@pytest.fixture
def story(session, person, settings) -> Story:
    settings.UNDO_SECONDS = 600  # longer than the tests: what is tested is what others do when its timer is gone
    return Story(session, person("Ines"))


@pytest.mark.parametrize("committed", [False, True], ids=["before its commit", "after its commit"])
@pytest.mark.parametrize("dies", [killed, cut_off])
def test_whoever_is_killed_at_any_step_the_story_has_one_end(story, dies, committed):
    for name in STEPS:
        step = getattr(story, name)
        dies(step, committed=committed)
        if name in ("asked", "voted"):
            assert not Approval.objects.exclude(status=Status.PENDING).exists()
            executed_too_early(story)
        step()
    done = story.approval
    assert (done.status, done.delivery, done.execution) == (Status.APPROVED_EDITED, "delivered", "succeeded")
    assert done.executable_digest == done.digest_of_call({"amount": 20})
    assert Vote.objects.count() == 1
    assert [event.text for event in log(story.session)] == ["bot asks to run refund", "Ines: approved edited"]
    entries = AuditEntry.objects.filter(subject_id=str(done.pk)).exclude(action="approval.execution_refused")
    assert list(entries.order_by("seq").values_list("action", flat=True)) == [
        "approval.requested", "approval.voted", "approval.decided", "approval.executed", "approval.executed",
    ]  # fmt: skip
    assert list(chains.broken_decisions(story.session.workspace_id)) == []
    assert list(audit.broken_rows(story.session.workspace_id)) == []


def executed_too_early(story: Story) -> None:
    """An executor that goes ahead before the decision is refused, whatever died."""
    if Approval.objects.exists():
        with pytest.raises((Conflict, NotAllowed)):
            story.running()
        assert story.approval.execution == "none"


def test_a_process_that_is_killed_while_a_decision_can_be_taken_back_loses_only_its_timer(story):
    story.asked()
    killed(story.voted, committed=True)
    assert effects.settle_due() == 0 and story.approval.takes_effect_at
    story.settled()
    assert story.approval.status == Status.APPROVED_EDITED
