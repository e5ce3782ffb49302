from django.db import migrations, models


class Migration(migrations.Migration):
    """A run may have been cancelled. Choices are words of Django alone: no table changes."""

    dependencies = [("sessions_app", "0043_session_overview")]

    operations = [
        migrations.AlterField(
            model_name="session",
            name="phase",
            field=models.CharField(
                choices=[
                    ("active", "Active"),
                    ("completed", "Completed"),
                    ("cancelled", "Cancelled"),
                    ("crashed", "Crashed"),
                    ("timed_out", "Timed Out"),
                ],
                default="active",
                max_length=10,
            ),
        ),
    ]
