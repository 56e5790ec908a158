"""The application: each page at its path, each also as JSON, and the forms that change something."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from remit.cli.options import WorkspaceOptions
from remit.errors import RemitError, StoreError
from remit.gateway.registry_worker import RegistryWorker
from remit.web import templating
from remit.web.browser_sessions import BrowserSession, BrowserSessions, CodeAnswer, is_same
from remit.web.page_model import (
    CHOICES,
    SESSION,
    VIEW,
    Action,
    Download,
    Page,
    PageAnswer,
    PageRequest,
    PageSession,
    PageSources,
    PageView,
)
from remit.web.request_guard import COOKIE
from remit.web.site_pages import ACTIONS, PAGES

if TYPE_CHECKING:
    from remit.web.live_feed import EventStreams

MAX_FORM_BYTES = 2**18
CODE_PATH = "/code"
SIGN_OUT_PATH = "/sign-out"
EVENTS_PATH = "/events"
FORM = "remit.form"  # in the scope of a request, without what unlocks

_FOREIGN_FORM = "The form is not one of this session. Load the page again."
_PASSING = ("code", "proof", "keeps_proof")
_STORE_DOWN = "The database cannot be reached, so this page cannot be shown."
_NO_WRITES = "The database cannot be reached, so nothing can be changed now."
_STORE_HINT = "Try again in a minute. Calls that need no approval still work."
_FORM_TYPE = "application/x-www-form-urlencoded"
_ANSWERS = {
    CodeAnswer.RIGHT: "You can decide now, until you sign out or close the browser.",
    CodeAnswer.NEEDED: "Enter the code that the terminal shows before you decide.",
    CodeAnswer.WRONG: "Wrong code. The terminal that runs `remit web` shows the right one.",
    CodeAnswer.TOO_MANY: "Too many wrong codes. Wait a minute, then try again.",
    CodeAnswer.NO_CODE: "`remit web` runs without a terminal, so this page only shows.",
}


class ReturnPoint(NamedTuple):
    """A page to return to, and the form that it is the answer to."""

    location: str
    fields: Mapping[str, str] = {}


class WebSite(NamedTuple):
    """The parts of one `remit web`, or of the pages of a gateway."""

    sources: RegistryWorker[PageSources]
    feed: EventStreams
    sessions: BrowserSessions
    tell: Callable[[str], None]  # in the terminal
    pages: Sequence[Page] = PAGES
    actions: Sequence[Action] = ACTIONS
    is_shared: bool = False  # by the people of a gateway, who sign in there and decide by their roles


def web_app(site: WebSite) -> Starlette:
    """Make the application, to be wrapped in a guard that tells each request what it can reach."""
    answers = PageAnswers(site)
    routes = [Route("/", partial(answers.page, site.pages[0], is_first=True))]
    for page in site.pages:
        ends = ("", ".json", *(f".{end}" for end in page.downloads))
        methods = ["GET", "POST"] if page.takes_form else ["GET"]
        answer = partial(answers.page, page)
        routes += [Route(f"{page.path}{end}", answer, methods=methods) for end in ends]
        if page.takes_name:
            routes.append(Route(f"{page.path}/{{name:path}}", answer))
    routes += [Route(each.path, partial(answers.act, each), methods=["POST"]) for each in site.actions]
    if not site.is_shared:
        routes += [
            Route(CODE_PATH, answers.enter_code, methods=["POST"]),
            Route(SIGN_OUT_PATH, answers.sign_out, methods=["POST"]),
            Route(EVENTS_PATH, answers.events),
            Route("/static/{name}", answers.static),
        ]
    routes.append(Route("/{rest:path}", answers.unknown, methods=["GET", "POST"]))
    return Starlette(routes=routes)


class PageAnswers:
    """Answers requests that passed the guard."""

    def __init__(self, site: WebSite) -> None:
        self._site = site

    async def page(self, page: Page, request: Request, *, is_first: bool = False) -> Response:
        """Answer for a page, perhaps as the first one of the site."""
        view = _view(request)
        if page not in view.pages:
            return await self.unknown(request)
        name, is_json = _split(request, page, is_first=is_first)
        params = dict(request.query_params)
        if request.method == "POST":
            form = await own_form(request)
            if form is None:
                return self.refused(request, 403, _FOREIGN_FORM)
            params |= form
        end = request.url.path.rpartition(".")[2] if page.downloads else ""
        asked = PageRequest(_options(view, params), params, name, view.viewer)
        is_part = "hx-request" in request.headers and "hx-history-restore-request" not in request.headers

        def produce(sources: PageSources) -> Response:
            try:
                answer = page.read(sources, asked)
            except (RemitError, ValueError) as error:
                return self._failed(request, error, is_json=is_json)
            try:
                if is_json:
                    return _json(answer.shape(), answer.status)
                if end in answer.downloads:
                    return _download(answer.downloads[end]())
                if is_part and answer.fragment is not None:
                    return self._part(request, answer.fragment, answer, asked)
                return self._page(request, page, answer, asked)
            except RemitError as error:  # the store may fail at any time
                return self._failed(request, error, is_json=is_json)

        return await self._site.sources.run(produce)

    async def act(self, action: Action, request: Request) -> Response:
        """Answer a form that changes something."""
        session, view = _session(request), _view(request)
        if action not in view.actions:
            return await self.unknown(request)
        form = await own_form(request)
        if form is None:
            return self.refused(request, 403, _FOREIGN_FORM)
        keeps_proof = form.pop("keeps_proof", "") and "code" in form
        if not session.proves(form.pop("proof", "")):  # a tab without the proof has the code in the form
            answer = self._enter(request.scope[SESSION], form.pop("code", ""))
            if answer is not CodeAnswer.RIGHT:
                return self._refused_code(request, answer)
        asked = PageRequest(_options(view, form), form, viewer=view.viewer)

        def perform(sources: PageSources) -> Response:
            try:
                done = action.act(sources, asked)
            except (RemitError, ValueError) as error:
                return self._failed(request, error, is_json=False)
            finally:
                sources.listings.clear()
            session.notices.append(done.notice)
            if keeps_proof:
                return self._unlocked(request.scope[SESSION], ReturnPoint(done.location))
            return RedirectResponse(view.root + done.location, status_code=303)

        try:
            return await self._site.sources.run(perform)
        finally:
            self._site.feed.announce()

    async def enter_code(self, request: Request) -> Response:
        """Let the session decide if the code of the form is right."""
        session: BrowserSession = request.scope[SESSION]
        form = await own_form(request)
        if form is None:
            return self.refused(request, 403, _FOREIGN_FORM)
        answer = self._enter(session, form.get("code", ""))
        if answer is not CodeAnswer.RIGHT:
            return self._refused_code(request, answer)
        session.notices.append(_ANSWERS[answer])
        return self._unlocked(session, self._return_point(request))

    def _unlocked(self, session: BrowserSession, back: ReturnPoint) -> Response:
        return HTMLResponse(templating.render("unlocked.html", {"session": session, "back": back}))

    def _enter(self, session: BrowserSession, code: str) -> CodeAnswer:
        if not code:
            return CodeAnswer.NEEDED if self._site.sessions.has_code else CodeAnswer.NO_CODE
        answer = self._site.sessions.enter_code(session, code)
        if answer is CodeAnswer.RIGHT:
            self._site.tell("the code was entered in the browser; it can decide now")
        elif answer is not CodeAnswer.NO_CODE:
            self._site.tell("a wrong code was entered in the browser")
        return answer

    def _refused_code(self, request: Request, answer: CodeAnswer) -> Response:
        status = 429 if answer is CodeAnswer.TOO_MANY else 403
        fields = dict(request.scope[FORM])
        again = ReturnPoint(request.url.path, fields) if answer is not CodeAnswer.NO_CODE else None
        return self.refused(request, status, _ANSWERS[answer], again=again)

    async def sign_out(self, request: Request) -> Response:
        """End the session."""
        session: BrowserSession = request.scope[SESSION]
        form = await own_form(request)
        if form is None:
            return self.refused(request, 403, _FOREIGN_FORM)
        self._site.sessions.close(session)
        self._site.tell("the browser signed out; press Enter for a new link")
        answer = HTMLResponse(templating.render("signed_out.html", {}))
        answer.delete_cookie(request.scope[COOKIE], httponly=True, samesite="strict")
        return answer

    async def events(self, request: Request) -> Response:  # noqa: ARG002 - the same for all
        """Stream the changes."""
        return StreamingResponse(self._site.feed.events(), media_type="text/event-stream")

    async def static(self, request: Request) -> Response:
        """Return a static file."""
        return static_file(request.path_params["name"]) or await self.unknown(request)

    async def unknown(self, request: Request) -> Response:
        """Answer for a page that does not exist."""
        return self.refused(request, 404, "There is no such page.")

    def _page(self, request: Request, page: Page, answer: PageAnswer, asked: PageRequest) -> Response:
        values = {**answer.values(), **self.frame(request, page.title, page.path), "asked": asked}
        return HTMLResponse(templating.render(answer.template, values))

    def _part(self, request: Request, fragment: str, answer: PageAnswer, asked: PageRequest) -> Response:
        known = {"session": request.scope[SESSION], "asked": asked, **self._place(request)}
        return HTMLResponse(templating.render(fragment, {**answer.values(), **known}))

    def _place(self, request: Request) -> dict[str, object]:
        view = _view(request)
        has_code = self._site.sessions.has_code or view.viewer is not None
        return {"root": view.root, "site": view.site, "viewer": view.viewer, "has_code": has_code}

    def _failed(self, request: Request, error: Exception, *, is_json: bool) -> Response:
        status, words = 400, str(error)
        hint = error.hint if isinstance(error, RemitError) else None
        if isinstance(error, StoreError) and _view(request).viewer is not None:
            # The place of the store is for those who run the gateway.
            status, words = 503, _STORE_DOWN if request.method == "GET" else _NO_WRITES
            hint = _STORE_HINT
        if is_json:
            return _json({"error": words, "hint": hint}, status)
        return self.refused(request, status, words, hint)

    def refused(
        self,
        request: Request,
        status: int,
        words: str,
        hint: str | None = None,
        *,
        again: ReturnPoint | None = None,
    ) -> Response:
        """Say in a page why a request is refused."""
        values = {**self.frame(request, "Not possible", ""), "words": words, "hint": hint, "again": again}
        return HTMLResponse(templating.render("refused.html", values), status_code=status)

    def frame(self, request: Request, title: str, path: str) -> dict[str, object]:
        """Return the values of what surrounds every page."""
        session, view = _session(request), _view(request)
        kept = {name: request.query_params[name] for name in CHOICES if request.query_params.get(name)}
        return {
            "title": title,
            "path": path,
            "pages": [page for page in view.pages if page.is_listed],
            "kept": kept,
            "directory": view.options.project,
            "session": session,
            **self._place(request),
            "is_outdated": view.is_outdated,
            "notices": session.take_notices(),
            "here_url": _url(request),
            "back": self._return_point(request),
        }

    def _return_point(self, request: Request) -> ReturnPoint:
        """Tell where a person continues who enters the code on the page that answers a request."""
        if request.method != "POST":
            return ReturnPoint(_url(request))
        form: dict[str, str] = {**request.scope.get(FORM, {})}
        location = _local(form.pop("next", "/")) if request.url.path == CODE_PATH else request.url.path
        root = _view(request).root
        path = urlsplit(location).path.removeprefix(root)
        page = next((each for each in _view(request).pages if f"{path}/".startswith(f"{each.path}/")), None)
        if page is not None and page.takes_form and "text" in form:
            return ReturnPoint(root + page.path, form)
        if request.url.path == CODE_PATH:
            return ReturnPoint(location)
        kept = {name: form[name] for name in CHOICES if form.get(name)}
        return ReturnPoint(root + (templating.link(page.path, kept) if page else "/"))


def static_file(name: str) -> Response | None:
    """Return a static file; None if there is none of this name."""
    path = next((each for each in templating.STATIC.iterdir() if each.name == name), None)
    if path is None:
        return None
    return FileResponse(path, headers={"Cache-Control": "private, max-age=31536000, immutable"})


def _session(request: Request) -> PageSession:
    return request.scope[SESSION]


def _view(request: Request) -> PageView:
    return request.scope[VIEW]


def _options(view: PageView, params: Mapping[str, str]) -> WorkspaceOptions:
    given = {name: params[name] for name in CHOICES if params.get(name)}
    return view.options._replace(**given)


def _split(request: Request, page: Page, *, is_first: bool) -> tuple[str, bool]:
    """Return the name in a path, and whether it asks for JSON."""
    name: str | None = request.path_params.get("name")
    if name is None:
        given = request.query_params.get("name", "") if page.takes_name else ""
        return given, not is_first and request.url.path.endswith(".json")
    return name.removesuffix(".json"), name.endswith(".json")


async def own_form(request: Request) -> dict[str, str] | None:
    """Read a form that a page of the session sent; None if another page did, or it is too long."""
    form = await read_form(request)
    if form is None or not is_same(_session(request).csrf, form.pop("csrf", "")):
        return None
    request.scope[FORM] = {name: text for name, text in form.items() if name not in _PASSING}
    return form


async def read_form(request: Request) -> dict[str, str] | None:
    """Read a form; None if it is too long."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != _FORM_TYPE:
        return None
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            return None
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True))
    except ValueError:
        return None


def _url(request: Request) -> str:
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def _json(shape: object, status: int) -> Response:
    return Response(json.dumps(shape), status_code=status, media_type="application/json")


def _download(file: Download) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{file.name}"'}
    return Response(file.text, media_type=file.media_type, headers=headers)


def _local(location: str) -> str:
    """Return a location on this site, or the first page."""
    parts = urlsplit(location)
    is_local = location.startswith("/") and not location.startswith(("//", "/\\"))
    return location if is_local and not parts.netloc and not parts.scheme else "/"
