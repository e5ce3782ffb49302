import django.db.models.deletion
from django.db import migrations, models

from ._concurrently import AddIndexConcurrently


class Migration(migrations.Migration):
    """Calls of an agent, a provider or a tool, failed ones, and audit entries of a time or an action have an index."""

    atomic = False
    dependencies = [("sessions_app", "0060_usage_of_months")]

    operations = [
        *(
            AddIndexConcurrently(
                model_name="callusage",
                index=models.Index(fields=[name, "workspace", "-id"], name=f"call_usage_by_{name}"),
            )
            for name in ("agent", "provider", "tool")
        ),
        AddIndexConcurrently(
            model_name="callusage",
            index=models.Index(
                fields=["status", "workspace", "-id"], condition=~models.Q(status="ok"), name="call_usage_by_status"
            ),
        ),
        migrations.AlterField(
            model_name="callusage",
            name="agent",
            field=models.ForeignKey(
                db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, to="sessions_app.agent"
            ),
        ),
        AddIndexConcurrently(
            model_name="auditentry", index=models.Index(fields=["workspace", "at"], name="audit_by_time")
        ),
        AddIndexConcurrently(
            model_name="auditentry",
            index=models.Index(
                fields=["workspace", "action", "-seq"],
                opclasses=["uuid_ops", "text_pattern_ops", "int8_ops"],
                name="audit_by_action",
            ),
        ),
    ]
