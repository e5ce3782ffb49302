"""Calls an ASGI application without a server."""

from __future__ import annotations

import asyncio


async def echo(scope, receive, send):
    """An application that reads the whole body and answers with it."""
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message["body"], message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def call(application, *parts: bytes, path="/", method="POST", client=("192.0.2.1", 4711), **headers: str):
    """One request: (status, headers, body)."""
    return asyncio.run(acall(application, *parts, path=path, method=method, client=client, **headers))


async def acall(application, *parts: bytes, path="/", method="POST", client=("192.0.2.1", 4711), query=b"", **headers):
    """The same in a running loop."""
    waiting = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    waiting += [{"type": "http.request", "body": b"", "more_body": False}]
    sent: list[dict] = []

    async def receive():
        return waiting.pop(0)

    async def send(message):
        sent.append(message)

    names = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": path, "query_string": query, "headers": names, "client": client}
    await application(scope, receive, send)
    return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]
