from django.db import migrations

# Files name tools and models as they like, also with 50,000 characters; an entry of an index holds 2,704 bytes, which
# are more than 500 characters of 4 bytes. Without the list of pending entries, which every search would read through.
FORWARD = """
CREATE FUNCTION countersign_short_names(names text[]) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(left(name, 500)), '{}') FROM unnest(names) AS name
$$;
CREATE INDEX session_tools ON sessions_app_session USING gin (countersign_short_names(tools_invoked))
    WITH (fastupdate = off);
CREATE INDEX session_models ON sessions_app_session USING gin (countersign_short_names(model_names))
    WITH (fastupdate = off);
"""
BACKWARD = """
DROP INDEX session_tools, session_models;
DROP FUNCTION countersign_short_names(text[]);
"""


class Migration(migrations.Migration):
    """Sessions by the tools and models that they used."""

    dependencies = [("sessions_app", "0029_usage_totals")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
