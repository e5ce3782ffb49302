"""Index of the last decisions, which the inbox shows."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0015_vote_version")]

    operations = [
        migrations.AddIndex(
            model_name="approval",
            index=models.Index(
                fields=["workspace", "-decided_at", "-id"],
                condition=models.Q(models.Q(("status", "pending"), _negated=True), ("recorded", False)),
                name="approval_decided",
            ),
        ),
    ]
