"""Posts to addresses that members and browsers name: into public networks alone, without redirects, within a time."""

from __future__ import annotations

import anyio
import httpx2
from django.db import connection, connections

from sessions_app import guarded_http, retry_after


class Failed(Exception):
    """A post was not taken. ``status`` where there was an answer, ``retry_after`` in seconds where it says when."""

    def __init__(self, why: str, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(why)
        self.status, self.retry_after = status, retry_after


def post(url: str, headers: dict[str, str], body: bytes, seconds: float) -> int:
    """Status of an answer 2xx, whose body is not read. Holds no database connection meanwhile. Raises ``Failed``."""
    if not connection.in_atomic_block:
        connections.close_all()
    return anyio.run(_post, url, headers, body, seconds)


async def _post(url: str, headers: dict[str, str], body: bytes, seconds: float) -> int:
    try:
        with anyio.fail_after(seconds):
            async with guarded_http.client(headers) as http, http.stream("POST", url, content=body) as answer:
                status, later = int(answer.status_code), answer.headers.get("retry-after", "")
    except TimeoutError:
        raise Failed(f"no answer within {seconds:.0f} s") from None
    except guarded_http.PrivateAddress as refused:
        raise Failed(str(refused)) from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as fault:
        raise Failed(f"{type(fault).__name__}: {fault}".rstrip(": ")) from None
    if not 200 <= status < 300:
        why = f"the answer was {status}, not 2xx" + (" (redirects are not followed)" * (300 <= status < 400))
        raise Failed(why, status, retry_after.seconds(later))
    return status
