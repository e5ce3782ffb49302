"""Counts of password attempts; and keys of browser sessions are stored hashed from now on (``config.browser_sessions``)."""

from django.db import migrations, models

# As ``config.browser_sessions.stored_key``: nobody is signed out. There is no way back from a hash, but to sign in.
HASH_KEYS = """
UPDATE django_session SET session_key = left(encode(sha256(convert_to(session_key, 'UTF8')), 'hex'), 40)
"""


class Migration(migrations.Migration):
    dependencies = [
        ("sessions_app", "0008_installation"),
        ("sessions", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="SignInAttempts",
            fields=[
                ("key", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("name_key", models.CharField(blank=True, db_index=True, max_length=64)),
                ("tried", models.IntegerField(default=0)),
                ("last_at", models.DateTimeField(db_index=True)),
                ("not_before", models.DateTimeField(null=True)),
            ],
        ),
        migrations.RunSQL(HASH_KEYS, "DELETE FROM django_session"),
    ]
