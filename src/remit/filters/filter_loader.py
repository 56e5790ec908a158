"""Loads filter files: Python files that the user or the administrator names by absolute path.

To load one is to run it. So a project cannot name one, no file is found by a module's name, and nothing next
to the file is importable. In a file, every public function that takes `(context, tool)` is a filter.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from inspect import Parameter, isfunction, signature
from types import ModuleType
from typing import NamedTuple, cast

from remit.decision.context import FilterFiles, FilterRefusal
from remit.decision.problems import Problem
from remit.files.bounded_reader import ANYWHERE, FileError, read_text
from remit.filters.filter_functions import Filter, ServerFilter, ToolFilterContext, line_in
from remit.filters.filter_runner import FAILURES, TIMEOUT, run_limited
from remit.text.untrusted_text import one_line

_LIMIT = 2**20  # bytes per file
_LONGEST = 300  # characters of an error's message
_PARAMETERS = ["context", "tool"]
_REMOVE = "or take it out of `filters.files`"
_CONSEQUENCE = "all tools are hidden until it is fixed"


class LoadedFilters(NamedTuple):
    """The filters of one file, or why there are none."""

    path: str
    source: str
    filters: tuple[ServerFilter, ...] = ()
    problem: Problem | None = None

    @property
    def reads_states(self) -> bool:
        """Whether a filter may read states: then the source mentions them."""
        return "states" in self.source


class FilterLoader:
    """Loads filter files once for each content."""

    def __init__(self) -> None:
        self._loaded: dict[tuple[str, str], LoadedFilters] = {}

    def load(self, files: FilterFiles, timeout: float = TIMEOUT) -> list[LoadedFilters]:
        """Load the files; one that cannot be loaded has a problem instead of filters."""
        found = {file: self._loaded.get(file) or _load(file[0], timeout) for file in files}
        self._loaded = found
        return list(found.values())


def refusal_of(loaded: Iterable[LoadedFilters]) -> FilterRefusal | None:
    """Return why all tools are hidden if a file cannot be loaded: nobody knows what it forbids."""
    for each in loaded:
        if each.problem is not None:
            place = f" {each.problem.place}" if each.problem.place else ""
            return FilterRefusal(
                "a filter file cannot be loaded, so all tools are hidden",
                f"the filter file {each.path}{place} cannot be loaded: {each.problem.reason}",
                f"fix {each.path}, then run `remit policy check`",
            )
    return None


def _load(path: str, timeout: float) -> LoadedFilters:
    try:
        source = read_text(path, limit=_LIMIT, within=ANYWHERE)
    except FileError as error:
        return _broken(path, "", "", error.reason, f"make it readable, {_REMOVE}")
    if source is None:
        return _broken(path, "", "", "the file does not exist", f"create it, {_REMOVE}")
    module = ModuleType(f"remit filters {path}")
    vars(module).update(__file__=path, ToolFilterContext=ToolFilterContext)
    run = _Execution(source, module)
    sys.modules[module.__name__] = module  # dataclasses look their module up
    run_limited(run, timeout)
    if run.error is not None:
        return _broken(path, source, _line(path, run.error), _words(run.error), f"fix it, {_REMOVE}")
    if not run.is_done:
        return _broken(path, source, "", f"it did not load within {timeout:g} s", f"fix it, {_REMOVE}")
    filters = tuple(ServerFilter(each, path=path) for each in _filters(module))
    if not filters:
        return _broken(path, source, "", "no public function takes `(context, tool)`", f"add one, {_REMOVE}")
    return LoadedFilters(path, source, filters)


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
        except FAILURES as error:
            self.error = error
        self.is_done = True


def _filters(module: ModuleType) -> Iterator[Filter]:
    public = [value for name, value in vars(module).items() if not name.startswith("_")]
    for value in dict.fromkeys(value for value in public if isfunction(value)):
        if _takes_context_and_tool(list(signature(value).parameters.values())):
            yield cast("Filter", value)


def _takes_context_and_tool(parameters: Sequence[Parameter]) -> bool:
    names = [each.name for each in parameters[:2]]
    are_given = all(each.kind is not Parameter.KEYWORD_ONLY for each in parameters[:2])
    rest = parameters[2:]
    return names == _PARAMETERS and are_given and all(each.default is not Parameter.empty for each in rest)


def _broken(path: str, source: str, place: str, reason: str, hint: str) -> LoadedFilters:
    problem = Problem(source=path, place=place, reason=f"{reason}; {_CONSEQUENCE} ({hint})")
    return LoadedFilters(path, source, problem=problem)


def _words(error: BaseException) -> str:
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    return one_line(f"{type(error).__name__}: {said}" if said else type(error).__name__, _LONGEST)


def _line(path: str, error: BaseException) -> str:
    line = line_in(path, error)
    if isinstance(error, SyntaxError) and error.filename == path:
        line = error.lineno
    return f"line {line}" if line else ""
