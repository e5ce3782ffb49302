"""TRUNCATE is refused too, ``countersign.erase`` opens nothing without the owner's rights, and votes are append-only.

A vote outlives the member and the key that gave it. PostgreSQL itself forgets these now (ON DELETE SET NULL, which runs
with the owner's rights), so that the desk's role needs no UPDATE on votes.
"""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

from sessions_app.migrations._append_only import against_truncate, backward, backward_truncate, forward
from sessions_app.migrations._append_only_0001 import TABLES as TABLES_0001

# Anybody can set a setting of their own making, so the setting alone would be no guard.
FUNCTION = """
CREATE OR REPLACE FUNCTION countersign_append_only() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    forgets text[] := TG_ARGV[1:];
BEGIN
    IF TG_OP <> 'UPDATE' AND current_setting('countersign.erase', true) = 'on'
        AND pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE')
    THEN
        RETURN OLD;
    END IF;
    IF TG_OP = 'UPDATE' AND TG_NARGS > 1
        AND to_jsonb(NEW) - forgets = to_jsonb(OLD) - forgets
        AND NOT EXISTS (
            SELECT FROM unnest(forgets) AS name
            WHERE to_jsonb(NEW) ->> name IS NOT NULL AND to_jsonb(NEW) -> name <> to_jsonb(OLD) -> name
        )
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION '% are append-only: % refused', TG_ARGV[0], TG_OP USING ERRCODE = 'restrict_violation';
END $$;
"""
TABLES = TABLES_0001 | {"sessions_app_eventlink": "links of events"}
VOTES = "sessions_app_vote"
FORGETS = ("member_id", "api_key_id")

# Django made the constraints, under names with a hash in them.
SET_NULL = """
DO $$
DECLARE found record;
BEGIN
    FOR found IN
        SELECT conname, pg_get_constraintdef(oid) AS definition FROM pg_constraint
        WHERE conrelid = 'sessions_app_vote'::regclass AND contype = 'f'
            AND confrelid IN ('sessions_app_member'::regclass, 'sessions_app_apikey'::regclass)
    LOOP
        EXECUTE format('ALTER TABLE sessions_app_vote DROP CONSTRAINT %I', found.conname);
        EXECUTE format(
            'ALTER TABLE sessions_app_vote ADD CONSTRAINT %I %s', found.conname,
            CASE WHEN {forward}
                THEN replace(found.definition, ' DEFERRABLE', ' ON DELETE SET NULL DEFERRABLE')
                ELSE replace(found.definition, ' ON DELETE SET NULL', '')
            END
        );
    END LOOP;
END $$;
"""

FORWARD = (
    FUNCTION
    + "".join(against_truncate(table, name) for table, name in TABLES.items())
    + SET_NULL.format(forward="true")
    + forward(VOTES, "votes", FORGETS)
)
# The function stays as it is: it does what the one before it did, and more.
BACKWARD = backward(VOTES) + SET_NULL.format(forward="false") + "".join(map(backward_truncate, TABLES))


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0004_callers_and_links")]

    operations = [
        migrations.RunSQL(
            FORWARD,
            BACKWARD,
            state_operations=[
                migrations.AlterField(
                    "vote",
                    "member",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.DO_NOTHING, to="sessions_app.member"
                    ),
                ),
                migrations.AlterField(
                    "vote",
                    "api_key",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.DO_NOTHING, to="sessions_app.apikey"
                    ),
                ),
            ],
        )
    ]
