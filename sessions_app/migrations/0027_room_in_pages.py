from django.db import migrations


class Migration(migrations.Migration):
    """Room in the pages of turns and tool calls for what is updated: a turn with each of its events, a call by its
    result. A new version of a row in the same page writes to no index (HOT). Pages that are full stay as they are.
    """

    dependencies = [("sessions_app", "0026_indexes_of_approvals_and_turns")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE sessions_app_turn SET (fillfactor = 85);"
            "ALTER TABLE sessions_app_toolcall SET (fillfactor = 90);",
            "ALTER TABLE sessions_app_turn RESET (fillfactor); ALTER TABLE sessions_app_toolcall RESET (fillfactor);",
        )
    ]
