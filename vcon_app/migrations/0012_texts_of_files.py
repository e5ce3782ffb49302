from django.db import migrations

READ_ALL = """
INSERT INTO sessions_app_filetext (session_id, workspace_id, text, due_at)
SELECT s.id, s.workspace_id, '', now() FROM sessions_app_session s
WHERE EXISTS (SELECT FROM vcon_app_importedsession link WHERE link.session_id = s.id);
"""


class Migration(migrations.Migration):
    """Files that are here already are looked through one after the other, of the newest session first."""

    dependencies = [("vcon_app", "0011_registrations"), ("sessions_app", "0059_file_texts")]

    operations = [migrations.RunSQL(READ_ALL, migrations.RunSQL.noop)]
