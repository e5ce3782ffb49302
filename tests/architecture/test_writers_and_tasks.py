"""Transactions open in services, only append writes events, and every task that is named is there."""

from __future__ import annotations

from .imports import modules


def test_transactions_open_in_services_only():
    outside = [
        name
        for name, path in modules().items()
        if ".services." not in name and ".migrations." not in name and "transaction.atomic" in path.read_text()
    ]
    assert outside == []


def test_only_append_writes_events():
    writers = [
        name
        for name, path in modules().items()
        if "Event.objects.create" in (text := path.read_text()) or "Event.objects.bulk_create" in text
    ]
    assert writers == []
    copies = [name for name, path in modules().items() if "COPY sessions_app_event" in path.read_text()]
    assert copies == ["sessions_app.services.log.events"]


def test_every_task_name_is_that_of_a_task():
    from config.celery import app
    from sessions_app.services import task_queue
    from vcon_app.services import task_names

    app.loader.import_default_modules()
    constants = [*vars(task_queue).values(), *vars(task_names).values()]
    names = {value for value in constants if isinstance(value, str) and ".tasks." in value}
    assert len(names) >= 3 and names - set(app.tasks) == set()


def test_what_the_scheduler_calls_and_sends_are_tasks():
    from django.conf import settings

    from config.celery import app

    app.loader.import_default_modules()
    assert {*settings.LOOKS, *settings.SENT, *settings.CELERY_TASK_ROUTES} - set(app.tasks) == set()
