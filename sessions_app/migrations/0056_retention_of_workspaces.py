from django.db import migrations, models

OWN = """
UPDATE sessions_app_sessionretention SET is_own = true
WHERE ttl_days IS NOT NULL OR max_messages IS NOT NULL OR prune_strategy <> '' OR auto_prune
"""


class Migration(migrations.Migration):
    """A retention for the sessions of a workspace that have none of their own; reasons of holds; what was pruned can be
    shown again."""

    dependencies = [("sessions_app", "0055_built_in_agent")]

    operations = [
        migrations.AddField("workspace", "retention", models.JSONField(db_default={}, default=dict)),
        migrations.AddField("sessionretention", "hold_reason", models.TextField(db_default="", default="")),
        migrations.AddField("sessionretention", "is_own", models.BooleanField(db_default=False, default=False)),
        migrations.AddField("sessionretention", "shown_through", models.IntegerField(db_default=0, default=0)),
        migrations.AddField("pruning", "shown_at", models.DateTimeField(null=True)),
        migrations.AddField("pruning", "shown_by", models.TextField(db_default="", default="")),
        migrations.RunSQL(OWN, migrations.RunSQL.noop),
    ]
