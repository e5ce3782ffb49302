import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from ._concurrently import AddIndexConcurrently


class Migration(migrations.Migration):
    """Approvals by age and by status, and the turns of a session that went wrong."""

    atomic = False

    dependencies = [
        ("sessions_app", "0025_queued_tasks"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="approval",
            index=models.Index(fields=["workspace", "-id"], name="approval_newest"),
        ),
        AddIndexConcurrently(
            model_name="approval",
            index=models.Index(fields=["workspace", "status", "-id"], name="approval_by_status"),
        ),
        AddIndexConcurrently(
            model_name="turn",
            index=models.Index(
                condition=models.Q(("errors__gt", 0)), fields=["session", "index"], name="turn_with_errors"
            ),
        ),
        migrations.AlterField(
            model_name="approval",
            name="workspace",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="approvals",
                to="sessions_app.workspace",
            ),
        ),
    ]
