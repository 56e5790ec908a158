"""The application: each page at its path, each also as JSON, and the forms that change something."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.requests import Request as HttpRequest
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from remit.cli import Here
from remit.errors import RemitError
from remit.web import templating
from remit.web.guard import confined, is_same
from remit.web.listing import Source
from remit.web.live import LiveFeed, Worker
from remit.web.page import CHOICES, Action, Guard, Page, Request, Session, Values

MAX_FORM_BYTES = 2**18
_SESSION = "remit.session"  # in the scope of a request that passed
_FORM_TYPE = "application/x-www-form-urlencoded"
_FOREIGN_FORM = "The form is not one of this session. Load the page again."
_NOT_DECIDING = "This page only shows: `remit web` was not started by a person at a terminal."


def create_app(
    pages: Sequence[Page], actions: Sequence[Action], guard: Guard, worker: Worker, feed: LiveFeed
) -> ASGIApp:
    """Make the application; the first page is also the one of the site."""
    answers = _Answers(pages, guard, worker, feed)
    routes = [Route("/", partial(answers.page, pages[0]))]
    for page in pages:
        answer = partial(answers.page, page)
        routes += [Route(page.path, answer), Route(f"{page.path}.json", answer)]
        if page.takes_name:
            routes.append(Route(f"{page.path}/{{name:path}}", answer))
    routes += [Route(action.path, partial(answers.act, action), methods=["POST"]) for action in actions]
    routes += [
        Route("/sign-out", answers.sign_out, methods=["POST"]),
        Route("/events", answers.events),
        Route("/static/{name}", answers.static),
        Route("/{rest:path}", answers.unknown, methods=["GET", "POST"]),
    ]
    router = Router(routes, redirect_slashes=False)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        checked = guard.check(scope, Headers(scope=scope))
        if isinstance(checked, Session):
            scope[_SESSION] = checked
            await router(scope, receive, confined(send))
        else:
            await checked(scope, receive, confined(send))

    return app


class _Answers:
    """Answers requests that passed the guard."""

    def __init__(self, pages: Sequence[Page], guard: Guard, worker: Worker, feed: LiveFeed) -> None:
        self._pages = pages
        self._guard = guard
        self._worker = worker
        self._feed = feed

    async def page(self, page: Page, http: HttpRequest) -> Response:
        """Answer for a page: whole, a part of it, or as JSON."""
        name: str = http.path_params.get("name") or ""
        is_json = http.url.path.endswith(".json") and http.url.path != "/"
        if page.takes_name:
            name = name.removesuffix(".json") if is_json else name
            name = name or http.query_params.get("name", "")
        params = dict(http.query_params)
        request = Request(_here(http, params), params, name)
        is_part = "hx-request" in http.headers and "hx-history-restore-request" not in http.headers

        def produce(source: Source) -> Response:
            answer = page.read(source, request)
            if is_json:
                return _json(answer.shape(), answer.status)
            values = {**answer.values(), "asked": request, "session": _session(http)}
            if is_part and answer.part is not None:
                return HTMLResponse(templating.render(answer.template, values, answer.part))
            return HTMLResponse(
                templating.render(answer.template, {**self._frame(http, page.title, page.path), **values})
            )

        try:
            return await self._worker.run(produce)
        except (RemitError, ValueError) as error:
            hint = error.hint if isinstance(error, RemitError) else None
            if is_json:
                return _json({"error": str(error), "hint": hint}, 400)
            return self._refused(http, 400, str(error), hint)

    async def act(self, action: Action, http: HttpRequest) -> Response:
        """Answer a form that changes something."""
        session = _session(http)
        form = await _own_form(http)
        if form is None:
            return self._refused(http, 403, _FOREIGN_FORM)
        if not session.may_decide:
            return self._refused(http, 403, _NOT_DECIDING)
        request = Request(_here(http, form), form)
        try:
            done = await self._worker.run(lambda source: action.act(source, request))
        except (RemitError, ValueError) as error:
            return self._refused(http, 400, str(error), error.hint if isinstance(error, RemitError) else None)
        finally:
            self._feed.announce()
        session.notices.append(done.notice)
        return RedirectResponse(templating.link(done.location, request.kept), status_code=303)

    async def sign_out(self, http: HttpRequest) -> Response:
        """End the session."""
        if await _own_form(http) is None:
            return self._refused(http, 403, _FOREIGN_FORM)
        self._guard.sign_out(_session(http))
        return HTMLResponse(templating.render("signed_out.html", {}))

    async def events(self, http: HttpRequest) -> Response:
        """Stream the changes since a page was made."""
        since = Request(_session(http).here, http.query_params).number("since")
        return StreamingResponse(self._feed.events(since), media_type="text/event-stream")

    async def static(self, http: HttpRequest) -> Response:
        """Return a static file."""
        files = {path.name: path for path in templating.STATIC.iterdir()}
        path = files.get(http.path_params["name"])
        if path is None:
            return await self.unknown(http)
        return FileResponse(path, headers={"Cache-Control": "private, max-age=31536000, immutable"})

    async def unknown(self, http: HttpRequest) -> Response:
        """Answer for a page that does not exist."""
        return self._refused(http, 404, "There is no such page.")

    def _refused(self, http: HttpRequest, status: int, reason: str, hint: str | None = None) -> Response:
        values = {**self._frame(http, "Not possible", ""), "reason": reason, "hint": hint}
        return HTMLResponse(templating.render("refused.html", values), status_code=status)

    def _frame(self, http: HttpRequest, title: str, path: str) -> Values:
        """Return the values of what surrounds every page."""
        session = _session(http)
        kept = {name: http.query_params[name] for name in CHOICES if http.query_params.get(name)}
        return {
            "title": title,
            "path": path,
            "pages": [page for page in self._pages if page.title],
            "kept": kept,
            "asked": Request(session.here, kept),
            "directory": session.here.directory,
            "session": session,
            "revision": self._feed.revision,
            "notices": session.take_notices(),
            "here_url": f"{http.url.path}?{http.url.query}" if http.url.query else http.url.path,
        }


def _session(http: HttpRequest) -> Session:
    return http.scope[_SESSION]


def _here(http: HttpRequest, params: Mapping[str, str]) -> Here:
    given = {name: params[name] for name in CHOICES if params.get(name)}
    return _session(http).here._replace(**given)


async def _own_form(http: HttpRequest) -> dict[str, str] | None:
    """Read a form that a page of the session sent; None if another page did, or if it is too long."""
    if http.headers.get("content-type", "").partition(";")[0].strip() != _FORM_TYPE:
        return None
    body = bytearray()
    async for chunk in http.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            return None
    try:
        form = dict(parse_qsl(body.decode(), keep_blank_values=True))
    except ValueError:
        return None
    return form if is_same(_session(http).csrf, form.pop("csrf", "")) else None


def _json(shape: object, status: int) -> Response:
    return Response(json.dumps(shape), status_code=status, media_type="application/json")
