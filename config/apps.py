"""The composition root as a Django app: it owns the commands ``up``, ``prepare`` and ``doctor``."""

from importlib import import_module

from django.apps import AppConfig


class CompositionConfig(AppConfig):
    """Loads Celery with Django; without it ``delay()`` would send to a default broker that is not there."""

    name = "config"
    default = True

    def ready(self) -> None:
        import_module("config.celery")
