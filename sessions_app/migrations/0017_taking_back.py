from django.conf import settings
from django.db import migrations, models

# What was decided before is owed since it was decided.
OWED_SINCE = "UPDATE sessions_app_approval SET deliver_at = decided_at WHERE delivery = 'queued' AND deliver_at IS NULL"


class Migration(migrations.Migration):
    dependencies = [
        ("sessions_app", "0016_inbox"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddIndex(
            model_name="approval",
            index=models.Index(
                condition=models.Q(("deliver_at__isnull", False), ("status", "pending")),
                fields=["deliver_at"],
                name="approval_takes_effect",
            ),
        ),
        migrations.RunSQL(OWED_SINCE, migrations.RunSQL.noop),
    ]
