"""A rare status among many decisions is found by an index, and not by reading the others."""

from __future__ import annotations

from django.db import connection

from sessions_app.models import GraphNode

MANY = """
INSERT INTO sessions_app_graphnode (
    id, workspace_id, agent_id, session_id, kind, title, status, told, by, by_kind, client_id, made_at, is_first
)
SELECT gen_random_uuid(), %s, %s, %s, 'decision', 'Go', CASE n %% 2000 WHEN 0 THEN 'rejected' ELSE 'approved' END,
       '{}', '', '', '', now(), false
FROM generate_series(1, 20000) n
"""


def test_a_rare_status_is_found_without_reading_the_others(workspace, agent, session):
    with connection.cursor() as cursor:
        cursor.execute(MANY, [workspace.pk, agent.pk, session.pk])
        cursor.execute("ANALYZE sessions_app_graphnode")
        # Whatever the planner knows of this table, the index must be able to answer alone and in order.
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off")
    found = GraphNode.objects.filter(workspace=workspace, kind="decision", status="rejected").order_by("-id")
    plan = found[:51].explain(analyze=True, timing=False)
    assert "graph_node_of_status" in plan and "Rows Removed" not in plan
    assert len(found[:51]) == 10
