from datetime import UTC, datetime

from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Coalesce

from ._concurrently import AddIndexConcurrently

RANK = models.Case(
    models.When(risk__in=("critical", "destructive"), then=models.Value(0)),
    models.When(risk__in=("high",), then=models.Value(1)),
    models.When(risk__in=("low",), then=models.Value(3)),
    default=models.Value(2),
    output_field=models.IntegerField(),
)


class Migration(migrations.Migration):
    """Approvals that wait, by urgency: the inbox reads those that it shows."""

    atomic = False

    dependencies = [
        ("sessions_app", "0037_file_changes"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        AddIndexConcurrently(
            model_name="approval",
            index=models.Index(
                models.F("workspace"),
                RANK,
                Coalesce("expires_at", models.Value(datetime(9999, 1, 1, tzinfo=UTC))),
                models.F("requested_at"),
                models.F("id"),
                condition=models.Q(("deliver_at", None), ("status", "pending")),
                name="approval_urgency",
            ),
        ),
    ]
