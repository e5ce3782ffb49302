from django.db import migrations

READ_AGAIN = """
INSERT INTO sessions_app_runsummaryfillin (id, before) SELECT 1, NULL WHERE EXISTS (SELECT FROM sessions_app_session)
ON CONFLICT (id) DO UPDATE SET before = NULL
"""


class Migration(migrations.Migration):
    """What happened in a session is told by newer rules: sessions that are there are read once more while the desk
    works, the newest first, and what is told of them stays until then.
    """

    dependencies = [("sessions_app", "0070_no_key_for_each_row_of_a_log")]
    operations = [migrations.RunSQL(READ_AGAIN, migrations.RunSQL.noop)]
