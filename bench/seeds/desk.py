"""A running desk that rows of the seeds are tried against: files go in by its API, a member reads its pages."""

from __future__ import annotations

import html
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, HTTPRedirectHandler, Request, build_opener, urlopen

from bench.drills.desk import Desk, Refused

SECONDS = 30
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
NO_TEXT = re.compile(r"<(script|style|svg)\b.*?</\1>|<[^>]+>", re.DOTALL)


class SeedDesk(Desk):
    """One desk, and somebody who is signed in to it."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__(data_dir)
        self.browser = build_opener(HTTPCookieProcessor(CookieJar()), HTTPRedirectHandler())
        self.submit(self.sign_in_link, {})

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def page(self, path: str) -> str:
        """Text of a page, without its tags."""
        return " ".join(html.unescape(NO_TEXT.sub(" ", self.html(path))).split())

    def html(self, path: str) -> str:
        """A page as it is sent; "" where there is none."""
        try:
            with self.browser.open(self.address + path, timeout=SECONDS) as answer:
                return answer.read().decode("utf-8", "replace")
        except HTTPError as refused:
            return refused.read().decode("utf-8", "replace") if refused.code != 404 else ""

    def bytes_of(self, path: str) -> bytes:
        """What the API answers, as it is sent. Raises ``Refused``."""
        asked = Request(self.address + path, headers={"Authorization": f"Bearer {self.key}"})
        try:
            with urlopen(asked, timeout=SECONDS) as answer:
                return answer.read()
        except HTTPError as refused:
            raise Refused(refused.code, refused.read()) from refused

    def again(self, more: dict[str, str]) -> SeedDesk:
        """This desk, started again with more in its environment."""
        self.stop()
        self.environment |= more
        self.start()
        return self

    def submit(self, url: str, fields: dict[str, str], to: str = "") -> str:
        """The page after a form of this address was sent, to ``to`` or itself; with the words of a refusal."""
        with self.browser.open(url, timeout=SECONDS) as form:
            token = TOKEN.search(form.read().decode())
        data = urlencode(fields | {"csrfmiddlewaretoken": token[1] if token else ""}).encode()
        try:
            sent = Request(self.address + to if to else url, data, {"Referer": url})
            with self.browser.open(sent, timeout=SECONDS) as answer:
                return answer.read().decode()
        except HTTPError as refused:
            return refused.read().decode("utf-8", "replace")

    def imported(self, document: Any, name: str = "file.json", which: int = 0) -> Seen:
        """A session of the file, when it is read. Raises ``AssertionError`` where there is none."""
        found = self.taken(document, name)
        assert len(found["sessions"]) > which, f"{found['error']} {found['findings'][:3]}"
        return Seen(self, found["sessions"][which], found)

    def taken(self, document: Any, name: str = "file.json") -> dict[str, Any]:
        """The import of a file, done or failed."""
        data = document if isinstance(document, bytes) else json.dumps(document).encode()
        made = self.upload(name, data)
        return self.wait(lambda: self.call(f"/api/v1/imports/{made}"), lambda one: one["status"] in ("done", "failed"))

    def agent(self, name: str, runtime: str = "scripted", **more: Any) -> dict[str, Any]:
        """A new agent."""
        return self.call("/api/v1/agents", {"name": name, "runtime": runtime, **more})

    def begun(self, agent: dict[str, Any], **fields: Any) -> Seen:
        """A new session of an agent."""
        return Seen(self, self.call(f"/dashboard/agents/{agent['id']}/sessions", fields)["id"])

    def wait(self, ask: Callable[[], Any], is_there: Callable[[Any], Any], seconds: float = SECONDS) -> Any:
        """What is asked for once it is as wanted, or as it is in the end."""
        until = time.monotonic() + seconds
        while not is_there(found := ask()) and time.monotonic() < until:
            time.sleep(0.1)
        return found


@dataclass
class Seen:
    """A session, by what the desk answers and shows of it."""

    desk: SeedDesk
    id: str
    file: dict[str, Any] | None = None
    """The import that it came by."""

    @property
    def now(self) -> dict[str, Any]:
        return self.desk.call(f"/api/v1/sessions/{self.id}")

    @cached_property
    def json(self) -> dict[str, Any]:
        return self.now

    @property
    def events(self) -> list[dict[str, Any]]:
        return self.desk.call(f"/api/v1/sessions/{self.id}/events?limit=500")["items"]

    @property
    def turns(self) -> list[dict[str, Any]]:
        return self.desk.call(f"/api/v1/sessions/{self.id}/turns")["items"]

    @property
    def path(self) -> str:
        return f"/dashboard/sub-agents/{self.json['agent']['id']}/chat/{self.id}"

    @property
    def rest(self) -> str:
        """Where the dashboard has it."""
        return f"/dashboard/agents/{self.json['agent']['id']}/sessions/{self.id}"

    @cached_property
    def page(self) -> str:
        return self.desk.page(self.path)

    @cached_property
    def html(self) -> str:
        return self.desk.html(self.path)

    @cached_property
    def about(self) -> str:
        """All that is said of the session beside its events: its page, its facts, and the rest of its file."""
        parts = (self.path, f"{self.path}/facts", f"/sessions/{self.id}/file-parts")
        return " ".join(self.desk.page(part) for part in parts)

    def written(self, format: str, **options: str) -> bytes:
        """The session as a file."""
        query = urlencode({"format": format, **options})
        return self.desk.bytes_of(f"/api/v1/sessions/{self.id}/export?{query}")

    def export(self, format: str, **options: str) -> Any:
        """The session as a file of JSON, read."""
        return json.loads(self.written(format, **options))

    def lost(self, format: str) -> str:
        """What the loss report of a format says."""
        found = self.desk.call(f"/api/v1/sessions/{self.id}/export/report?format={format}")
        return "; ".join(f"{item['what']} ({item['why']})" for item in found["items"])

    def of_kind(self, *kinds: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["kind"] in kinds]

    def idle(self) -> Seen:
        """This session when no turn of it is in flight any more."""
        self.desk.wait(lambda: self.now["status"], lambda status: status != "running")
        return Seen(self.desk, self.id)
