from django.db import migrations

READ_AGAIN = """
INSERT INTO sessions_app_runsummaryfillin (id, before) SELECT 1, NULL WHERE EXISTS (SELECT FROM sessions_app_session)
ON CONFLICT (id) DO UPDATE SET before = NULL
"""


class Migration(migrations.Migration):
    """A run summary counts recordings and other artifacts: sessions that are there are read once more while the desk
    works, as by the migration before.
    """

    dependencies = [("sessions_app", "0071_run_summaries_again")]
    operations = [migrations.RunSQL(READ_AGAIN, migrations.RunSQL.noop)]
