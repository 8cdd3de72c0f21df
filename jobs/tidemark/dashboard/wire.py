"""Handles requests before routes do: HEAD is answered like GET without a body, and a slash at the end of an address
is ignored."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tidemark.dashboard import MOUNTED


class Plain:
    """Wraps the dashboard. Starlette's own redirects would not check the user."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        root = scope.get("root_path", "")
        path = scope["path"].removeprefix(root)
        scope = {**scope, "path": root + (path.rstrip("/") or "/")}
        if scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return

        async def without_body(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        await self.app({**scope, "method": "GET"}, receive, without_body)


class Mounted:
    """Wraps Airflow: the dashboard's address without a final slash leads to the dashboard."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and scope["path"].removeprefix(scope.get("root_path", "")) == MOUNTED:
            scope = {**scope, "path": scope["path"] + "/"}
        await self.app(scope, receive, send)
