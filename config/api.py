"""The whole JSON API: the desk's routers and those of imports and exports, under one description."""

from sessions_app.api import api as desk
from vcon_app.api import (
    erasure,
    evidence,
    exports,
    file_parts,
    graph,
    imports,
    receipts,
    redactions,
    registrations,
    share_links,
    spans,
)

api = desk.build()
for noun in (
    imports, exports, redactions, registrations, share_links, erasure, receipts, evidence, file_parts, graph, spans,
):  # fmt: skip
    desk.explain(api, noun.FAULTS)
    api.add_router(desk.ROOT, noun.router)
api.add_router("", spans.bare_router)
