"""Attempts to sign in with a password, as the throttle counts them."""

from __future__ import annotations

from django.db import models


class SignInAttempts(models.Model):
    """How often a password was tried lately by one subject: an address, a name, the two together, or a browser.

    ``key`` and ``name_key`` are keyed hashes: the table tells nobody who signs in here, and from where.
    """

    key = models.CharField(max_length=64, primary_key=True)
    name_key = models.CharField(max_length=64, blank=True, db_index=True)
    tried = models.IntegerField(default=0)
    last_at = models.DateTimeField(db_index=True)
    not_before = models.DateTimeField(null=True)
