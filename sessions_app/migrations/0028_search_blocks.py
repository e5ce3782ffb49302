import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
from django.db import migrations, models

ERASED_WITH_SESSION = """
ALTER TABLE sessions_app_{0} ADD CONSTRAINT {0}_session FOREIGN KEY (session_id)
    REFERENCES sessions_app_session (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED;
"""
FORGET = "ALTER TABLE sessions_app_{0} DROP CONSTRAINT {0}_session;"
# The words of a row lie beside the table (TOAST), which the planner does not count: to it a scan of the table is cheap,
# and takes 75 ms where the index takes 1. So the question is asked in a function that has no such scan.
ROWS = """
CREATE FUNCTION countersign_search_rows(wanted tsquery, most bigint)
    RETURNS TABLE (session_id uuid, first_seq integer, last_seq integer)
    LANGUAGE sql STABLE SET enable_seqscan = off AS $$
    SELECT b.session_id, b.first_seq, b.last_seq FROM sessions_app_searchblock b WHERE b.words @@ wanted LIMIT most
$$
"""
FORGET_ROWS = "DROP FUNCTION countersign_search_rows(tsquery, bigint)"
# The sweep fills the new index from the newest session to the oldest. Until it is at a session, searches look into the
# old rows of that one.
BEHIND = """
INSERT INTO sessions_app_searchbacklog (session_id, workspace_id, since)
    SELECT id, workspace_id, created_at FROM sessions_app_session WHERE last_seq > 0 OR title <> '';
UPDATE sessions_app_session SET indexed_seq = 0 WHERE indexed_seq > 0;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("sessions_app", "0027_room_in_pages"),
    ]

    operations = [
        migrations.CreateModel(
            name="SearchBlock",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "session_id", "first_seq", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="sessions_app.session",
                    ),
                ),
                ("first_seq", models.IntegerField()),
                ("last_seq", models.IntegerField()),
                ("words", django.contrib.postgres.search.SearchVectorField()),
            ],
            options={
                "indexes": [
                    django.contrib.postgres.indexes.GinIndex(
                        fastupdate=True, fields=["words"], gin_pending_list_limit=1024, name="search_block_words"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SearchBacklog",
            fields=[
                (
                    "session",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="sessions_app.session",
                    ),
                ),
                ("since", models.DateTimeField()),
                (
                    "workspace",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="sessions_app.workspace",
                    ),
                ),
            ],
        ),
        migrations.RunSQL(ROWS, FORGET_ROWS),
        migrations.RunSQL(BEHIND, migrations.RunSQL.noop),
        *(
            migrations.RunSQL(ERASED_WITH_SESSION.format(table), FORGET.format(table))
            for table in ("searchblock", "searchbacklog")
        ),
    ]
