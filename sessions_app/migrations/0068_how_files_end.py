from django.db import migrations, models

READ_AGAIN = """
INSERT INTO sessions_app_runsummaryfillin (id, before) SELECT 1, NULL WHERE EXISTS (SELECT FROM sessions_app_session)
ON CONFLICT (id) DO UPDATE SET before = NULL
"""


class Migration(migrations.Migration):
    """How the file of a session ends stands with the session, where a list finds it and a badge reads it.

    Of the sessions that are there the fill-in of run summaries tells it while the desk works: it goes through all of
    them once more, and of one whose run summary is whole it reads nothing else.
    """

    dependencies = [("sessions_app", "0067_first_day_of_usage")]
    operations = [
        migrations.AddField(
            model_name="session",
            name="ending",
            field=models.CharField(blank=True, db_default="", default="", max_length=20),
        ),
        migrations.RunSQL(READ_AGAIN, migrations.RunSQL.noop),
    ]
