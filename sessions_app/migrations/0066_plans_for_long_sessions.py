from django.db import migrations

from ._partitions_0031 import FUNCTIONS, LOCK_TIMEOUT, RunPatiently

ATTACHED = "EXECUTE format('ALTER TABLE sessions_app_event ATTACH PARTITION"
PLANNED = "ALTER COLUMN session_id SET (n_distinct = -0.0005)"
MONTHS = FUNCTIONS.replace(ATTACHED, f"EXECUTE format('ALTER TABLE %I.%I {PLANNED}', place, part);\n        {ATTACHED}")
EACH = """
DO $$
DECLARE
    planned regclass;
BEGIN
    SET LOCAL lock_timeout = '{timeout}';
    FOR planned IN
        SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'sessions_app_event'::regclass
        UNION ALL VALUES ('sessions_app_modelrequest'::regclass), ('sessions_app_toolcall'), ('sessions_app_turn')
    LOOP
        EXECUTE format('ALTER TABLE %s {each}', planned);
    END LOOP;
    ALTER TABLE sessions_app_event {whole};
END $$
"""
FORWARD = EACH.format(timeout=LOCK_TIMEOUT, each=PLANNED, whole=PLANNED.replace("n_distinct", "n_distinct_inherited"))
BACKWARD = EACH.format(
    timeout=LOCK_TIMEOUT,
    each="ALTER COLUMN session_id RESET (n_distinct)",
    whole="ALTER COLUMN session_id RESET (n_distinct_inherited)",
)
GATHERED = """
ANALYZE sessions_app_event (session_id), sessions_app_modelrequest (session_id), sessions_app_toolcall (session_id),
        sessions_app_turn (session_id)
"""


class Migration(migrations.Migration):
    """What is read of one session is planned as for one of 2,000 rows in tables of millions, whatever the average is.

    Where most sessions are short PostgreSQL takes each for one of a few rows, and for 20 calls of one with 20,000 reads
    all of them; looked up one by one they cost a short session nothing more.
    """

    atomic = False
    dependencies = [("sessions_app", "0065_whole_days_of_usage")]
    operations = [
        migrations.RunSQL(MONTHS, FUNCTIONS),
        RunPatiently(FORWARD, BACKWARD),
        migrations.RunSQL(GATHERED, migrations.RunSQL.noop),
    ]
