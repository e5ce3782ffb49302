"""Static files, before Django: WhiteNoise's middleware is synchronous, which would cost a thread per open stream."""

from __future__ import annotations

from asgiref.sync import sync_to_async
from whitenoise import WhiteNoise
from whitenoise.responders import Response, StaticFile

from config.web.asgi import Application, Receive, Scope, Send, answer, header


class StaticFiles(WhiteNoise):  # type: ignore[misc]  # a class without types
    """WhiteNoise for ASGI: its table of files, gzip variants, ETags and ranges; the body in one message."""

    def __init__(self, application: Application, root: str, prefix: str) -> None:
        super().__init__(
            application,
            root,
            prefix,
            allow_all_origins=False,
            # HashedFilesStorage puts 12 hex digits of the content's hash into the name, so such a file never changes.
            immutable_file_test=r"^.+\.[0-9a-f]{12}\..+$",
            mimetypes={".speculationrules": "application/speculationrules+json"},  # WhiteNoise has types of its own
            add_headers_function=lambda headers, path, url: headers.add_header("X-Content-Type-Options", "nosniff"),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        file = self.files.get(scope["path"]) if scope["type"] == "http" else None
        if file is None:
            return await self.application(scope, receive, send)
        # In a thread: reading a file would block the event loop, and with it every live page.
        response, body = await sync_to_async(_read, thread_sensitive=False)(file, scope)
        headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in response.headers]
        await answer(send, response.status, headers, body)


def _read(file: StaticFile, scope: Scope) -> tuple[Response, bytes]:
    names = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")
    asked = {name.decode().upper().replace("-", "_"): header(scope, name).decode("latin-1") for name in names}
    response = file.get_response(scope["method"], {f"HTTP_{name}": value for name, value in asked.items() if value})
    if response.file is None:
        return response, b""
    with response.file as opened:
        return response, opened.read()
