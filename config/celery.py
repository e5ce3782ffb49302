"""The Celery application. ``config.apps`` imports it, so that every Django process rings the same bell."""

from celery import Celery
from celery.signals import beat_embedded_init, celeryd_init, worker_process_init

from config.process import die_with_parent

app = Celery("countersign")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@celeryd_init.connect
def listen_for_messages(conf, **_) -> None:
    """Only a worker reads, so only it keeps the extra connection that LISTENs."""
    if "use_notify" in conf.broker_transport_options:
        conf.broker_transport_options["use_notify"] = True


@worker_process_init.connect
@beat_embedded_init.connect
def leave_with_the_worker(**_) -> None:
    """The pool's child and beat would outlive a worker that got ``kill -9``."""
    die_with_parent()
