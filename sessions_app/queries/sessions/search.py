"""Search over all transcripts: sessions in the order and with the filters of their list, each with hits in context."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from sessions_app.models import Session
from sessions_app.rendering.titles import title_of_prompt
from sessions_app.search import typed
from sessions_app.search.marking import snippet
from sessions_app.search.operators import Read

from ..log.hits import Hits, Narrowing, hits_of
from . import relevance, session_list
from .conditions import models_called, read_typed, spellings
from .session_list import Ranked, SessionFilter

TITLE = 300
"""Characters."""
SESSIONS = 10
"""Sessions of one page: of each up to 128 events are read."""


@dataclass(frozen=True, slots=True)
class Result:
    """A session that was found. ``title`` is pieces of its title, every second one found."""

    session: Session
    title: list[str]
    hits: Hits


@dataclass(frozen=True, slots=True)
class ResultPage:
    """One page of results and the cursor of the next (None at the end). ``read``: what was typed, taken apart;
    the others as in ``session_list.Page``."""

    results: list[Result]
    next_cursor: str | None
    read: Read
    ranked: Ranked | None
    is_walked: bool = False
    is_cut: bool = False


def search(
    workspace_id: UUID, wanted: SessionFilter, limit: int, cursor: str | None, sees: Q | None = None
) -> ResultPage:
    """A page of the sessions that pass, of those that the reader ``sees``. Raises ``BadFilter``."""
    read = read_typed(wanted.q)
    page = relevance.found_page(workspace_id, wanted, limit, cursor, sees or session_list.EVERYTHING)
    models = [one for name in read.values("model") for one in models_called(workspace_id, name)]
    models += [wanted.model] if wanted.model else []
    narrowing = Narrowing.of(read, spellings, models, wanted.tool, failed=wanted.has_errors is True)
    hits = hits_of(page.items, read.words, narrowing) if page.items else {}
    query = typed.read(read.words)
    results = [
        Result(one, snippet(title, query) if query.wanted else [title], hits.get(one.pk, Hits()))
        for one, title in ((one, title_of_prompt(str(one), TITLE)) for one in page.items)
    ]
    return ResultPage(results, page.next_cursor, read, page.ranked, page.is_walked, page.is_cut)
