from django.db import migrations, models

from ._concurrently import AddIndexConcurrently


class Migration(migrations.Migration):
    """Usage of an agent by session is read page by page."""

    atomic = False
    dependencies = [("sessions_app", "0061_calls_and_audit_narrowed")]

    operations = [
        AddIndexConcurrently(
            model_name="session", index=models.Index(fields=["agent", "id"], name="session_of_agent_by_id")
        ),
    ]
