"""Filters: Python functions of the user or of an application that say which tools may be used.

To load a filter file is to run it, so a project cannot name one. Nothing next to the file is importable.
"""

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from inspect import Parameter, isawaitable, isfunction, signature
from types import ModuleType
from typing import NamedTuple, cast

from remit.decision import (
    Agent,
    AgentProfile,
    Context,
    Definition,
    FilterRefusal,
    Glob,
    Key,
    Kind,
    Project,
    Scope,
    Tool,
    full_label,
    glob,
    tool_prefix,
)
from remit.files import ANYWHERE, FileError, read_text
from remit.store import Problem
from remit.text import one_line

SECONDS = 5.0  # for all filters together, and to load a file
_LIMIT = 2**20  # bytes of a file
_LONGEST = 300  # characters of an error's message
_PARAMETERS = ["context", "tool"]
_FAILURES = (Exception, SystemExit)  # what a user's code may raise
_NOT_CALLED = (Kind.MCP_SERVER, Kind.PLUGIN)
_MAIN_SESSION = Agent("", AgentProfile())  # so a filter can always read `context.agent.name`


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFilterContext:
    """The context that a filter receives with a tool."""

    project: Project
    workspace: str  # its directory
    client: str | None
    agent: Agent  # in the main session, its name is empty
    server_name: str | None
    states: Mapping[str, bool | None]
    run_context: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterTool:
    """A tool as a filter sees it."""

    name: str  # the server's own name for it
    canonical_name: str  # `mcp__SERVER__TOOL`, as in lists and rules
    server_name: str | None
    kind: Kind
    scope: Scope
    client: str
    plugin: str | None = None
    description: str | None = None


ToolFilterFunction = Callable[[ToolFilterContext, FilterTool], bool | Awaitable[bool]]


class ServerFilter(NamedTuple):
    """A filter, the servers that it applies to, and the file that it comes from."""

    function: ToolFilterFunction
    server: Glob | None = None  # None: all tools, including those without a server
    path: str | None = None  # None: an application added it

    @property
    def name(self) -> str:
        """The filter's name in reasons."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def concerns(self, tool: Tool) -> bool:
        """Return whether the filter applies to a tool."""
        if self.server is None:
            return True
        labels = () if tool.server is None else (tool.server, full_label(tool.server, tool.plugin))
        return any(map(self.server.matches, labels))

    def refusal(self, answer: object) -> FilterRefusal | None:
        """Return the reason of a refusal; None only if the filter returned exactly `True`."""
        if answer is True:
            return None
        if answer is False:
            return self._refusal(f"hidden by the filter `{self.name}`")
        kind = type(answer).__name__
        return self._refusal(f"the filter `{self.name}` returned {kind}, expected True or False")

    def failure(self, error: BaseException) -> FilterRefusal:
        """Return the reason after an exception, without its message, which may contain anything."""
        line = _line_in(self.path, error)
        return self._refusal(
            f"the filter `{self.name}` failed: {type(error).__name__}", f" line {line}" if line else ""
        )

    def _refusal(self, reason: str, line: str = "") -> FilterRefusal:
        if self.path is None:
            return FilterRefusal(reason)
        place = f"{self.path}{line}"
        return FilterRefusal(reason, f"{reason} ({place})", f"change `{self.name}` in {place}")


class FilterFile(NamedTuple):
    """The filters of a file, or what is wrong with it."""

    source: str
    filters: tuple[ServerFilter, ...] = ()
    problem: Problem | None = None


class FilterFiles:
    """Loads each filter file once per content."""

    def __init__(self) -> None:
        self._loaded: dict[str, FilterFile] = {}

    def load(self, paths: Iterable[str]) -> list[FilterFile]:
        """Load files; one that cannot be loaded has a problem instead of filters."""
        self._loaded = {path: _load(path, self._loaded.get(path)) for path in paths}
        return list(self._loaded.values())


def server_filter(function: ToolFilterFunction, server: str | None) -> ServerFilter:
    """Return a filter that an application adds, perhaps for the servers that match a pattern alone."""
    return ServerFilter(function, None if server is None else glob(server))


class Filters(NamedTuple):
    """All filters of a catalog."""

    filters: tuple[ServerFilter, ...]
    broken: Problem | None = None  # of a file that cannot be loaded: nobody knows what it forbids

    def refusals(
        self,
        tools: Iterable[Tool],
        definitions: Mapping[str, Definition],
        context: Context,
        seconds: float = SECONDS,
    ) -> dict[Key, FilterRefusal]:
        """Return why filters refuse tools, by key; servers and plugins cannot be called, so none is asked."""
        asked = [tool for tool in tools if tool.kind not in _NOT_CALLED]
        if self.broken is not None:
            refusal = _refusal_of(self.broken)
            return {tool.key: refusal for tool in asked if tool.kind is not Kind.SUBAGENT}
        run = _Run(self.filters, _questions(asked, definitions, context))
        _run_limited(run, seconds)
        answers = dict(run.answers)  # copied: a late filter may still answer
        late = _Answer(FilterRefusal(f"its filter did not answer within {seconds:g} s"), is_failure=True)
        refusals: dict[Key, FilterRefusal] = {}
        for tool in asked:
            refusal, is_failure = answers.get(tool.key, late)
            is_spared = is_failure and tool.kind is Kind.SUBAGENT  # a failing filter does not hide agents
            if refusal is not None and not is_spared:
                refusals[tool.key] = refusal
        return refusals


def _refusal_of(problem: Problem) -> FilterRefusal:
    place = f"{problem.source} {problem.place}".rstrip()
    return FilterRefusal(
        "a filter file cannot be loaded, so all tools are hidden",
        f"the filter file {place} cannot be loaded: {problem.reason}",
        f"fix {problem.source}, or remove it from `filters`",
    )


class _Question(NamedTuple):
    """A tool, and the arguments of the filters."""

    tool: Tool
    context: ToolFilterContext
    shown: FilterTool


class _Answer(NamedTuple):
    """The answer of the filters about a tool."""

    refusal: FilterRefusal | None
    is_failure: bool = False


def _questions(
    tools: Sequence[Tool], definitions: Mapping[str, Definition], context: Context
) -> list[_Question]:
    snapshot = context.snapshot
    states = {} if snapshot is None else {name: value.truth for name, value in snapshot.states.items()}
    contexts = {
        server: ToolFilterContext(
            project=context.workspace.project,
            workspace=context.workspace.dir,
            client=context.client,
            agent=context.agent or _MAIN_SESSION,
            server_name=server,
            states=states,
            run_context=context.run_context,
        )
        for server in dict.fromkeys(tool.server for tool in tools)
    }
    return [
        _Question(tool, contexts[tool.server], _shown(tool, definitions.get(tool.definition or "")))
        for tool in tools
    ]


def _shown(tool: Tool, definition: Definition | None) -> FilterTool:
    own = None if definition is None else definition.tool
    prefix = "" if tool.server is None else tool_prefix(tool.server, tool.plugin)
    return FilterTool(
        name=own or tool.name.removeprefix(prefix),
        canonical_name=tool.name,
        server_name=tool.server,
        kind=tool.kind,
        scope=tool.scope,
        client=tool.client,
        plugin=tool.plugin,
        description=tool.description,
    )


class _Run:
    """One run of all filters over some tools; each answer is there as soon as it is known."""

    def __init__(self, filters: Sequence[ServerFilter], questions: Sequence[_Question]) -> None:
        self._filters = filters
        self._questions = questions
        self.answers: dict[Key, _Answer] = {}

    def __call__(self) -> None:
        asyncio.run(self._ask())

    async def _ask(self) -> None:
        waiting = [later for question in self._questions if (later := self._start(question)) is not None]
        await asyncio.gather(*waiting)

    def _start(self, question: _Question) -> Awaitable[None] | None:
        """Run the filters of a tool up to the first that must be awaited."""
        concerned = [item for item in self._filters if item.concerns(question.tool)]
        for at, item in enumerate(concerned):
            try:
                answer = item.function(question.context, question.shown)
            except _FAILURES as error:
                self._fail(question, item, error)
                return None
            if isawaitable(answer):
                return self._finish(question, answer, concerned[at:])
            if self._is_refused(question, item, answer):
                return None
        self.answers[question.tool.key] = _Answer(None)
        return None

    async def _finish(
        self, question: _Question, first: Awaitable[object], left: Sequence[ServerFilter]
    ) -> None:
        pending: object = first
        for at, item in enumerate(left):
            try:
                answer = pending if at == 0 else item.function(question.context, question.shown)
                answer = await answer if isawaitable(answer) else answer
            except _FAILURES as error:
                self._fail(question, item, error)
                return
            if self._is_refused(question, item, answer):
                return
        self.answers[question.tool.key] = _Answer(None)

    def _is_refused(self, question: _Question, asked: ServerFilter, answer: object) -> bool:
        refusal = asked.refusal(answer)
        if refusal is not None:
            self.answers[question.tool.key] = _Answer(refusal, is_failure=not isinstance(answer, bool))
        return refusal is not None

    def _fail(self, question: _Question, asked: ServerFilter, error: BaseException) -> None:
        self.answers[question.tool.key] = _Answer(asked.failure(error), is_failure=True)


def _run_limited(work: Callable[[], None], seconds: float) -> None:
    """Run a user's code in a thread, because it may hang; wait for it until the time is over.

    What it prints goes to stderr: stdout belongs to a protocol, or is data.
    """
    with redirect_stdout(sys.stderr):
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(seconds)


def _load(path: str, before: FilterFile | None) -> FilterFile:
    try:
        source = read_text(path, limit=_LIMIT, within=ANYWHERE)
    except FileError as error:
        return _broken(path, "", "", error.reason)
    if source is None:
        return _broken(path, "", "", "the file does not exist")
    if before is not None and before.source == source and before.filters:
        return before
    module = ModuleType(f"remit filters {path}")
    vars(module).update(__file__=path, ToolFilterContext=ToolFilterContext)
    run = _Execution(source, module)
    sys.modules[module.__name__] = module  # dataclasses look their module up
    _run_limited(run, SECONDS)
    if run.error is not None:
        return _broken(path, source, _place(path, run.error), _words(run.error))
    if not run.is_done:
        return _broken(path, source, "", f"it did not load within {SECONDS:g} s")
    filters = tuple(ServerFilter(function, path=path) for function in _functions(module))
    if not filters:
        return _broken(path, source, "", "no public function takes `(context, tool)`")
    return FilterFile(source, filters)


class _Execution:
    """Runs the code of a file."""

    def __init__(self, source: str, module: ModuleType) -> None:
        self._source = source
        self._module = module
        self.is_done = False
        self.error: BaseException | None = None

    def __call__(self) -> None:
        try:
            code = compile(self._source, str(self._module.__file__), "exec", dont_inherit=True)
            exec(code, vars(self._module))  # noqa: S102 - the user's own file, named by absolute path
        except _FAILURES as error:
            self.error = error
        self.is_done = True


def _functions(module: ModuleType) -> Iterator[ToolFilterFunction]:
    public = [value for name, value in vars(module).items() if not name.startswith("_")]
    for value in dict.fromkeys(value for value in public if isfunction(value)):
        parameters = list(signature(value).parameters.values())
        first, rest = parameters[:2], parameters[2:]
        are_given = all(item.kind is not Parameter.KEYWORD_ONLY for item in first)
        are_known = [item.name for item in first] == _PARAMETERS and are_given
        if are_known and all(item.default is not Parameter.empty for item in rest):
            yield cast("ToolFilterFunction", value)


def _broken(path: str, source: str, place: str, reason: str) -> FilterFile:
    return FilterFile(
        source, problem=Problem(path, place, f"{reason}; all tools are hidden until it is fixed")
    )


def _words(error: BaseException) -> str:
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    name = type(error).__name__
    return one_line(f"{name}: {message}" if message else name, _LONGEST)


def _place(path: str, error: BaseException) -> str:
    line = _line_in(path, error)
    if isinstance(error, SyntaxError) and error.filename == path:
        line = error.lineno or 0
    return f"line {line}" if line else ""


def _line_in(path: str | None, error: BaseException) -> int:
    """Return the last line of a file that an exception passed through; 0 if it did not."""
    line, frame = 0, error.__traceback__
    while frame is not None:
        line = frame.tb_lineno if frame.tb_frame.f_code.co_filename == path else line
        frame = frame.tb_next
    return line
