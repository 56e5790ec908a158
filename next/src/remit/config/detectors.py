"""Detectors: kinds, options, times, which need trust, and how a person makes each one true."""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

Scalar: TypeAlias = str | int | float | bool

_SIGNS = (">=", "<=", "==", "!=", ">", "<")
_LARGEST = 1_000_000_000
_LONGEST_PATH = 1024
_TIMEOUT = 2.0
GIT_FACTS = ("repository", "branch", "detached", "merging", "rebasing", "dirty", "clean")
_ASKED_OF_GIT = ("dirty", "clean")  # these run git

OPTIONS: Mapping[str, tuple[str, ...]] = {  # of each kind
    "file": ("else",),
    "glob": ("count", "timeout", "lifetime", "else"),
    "git": ("equals", "timeout", "lifetime", "else"),
    "env": ("equals",),
    "value": ("equals", "else"),
    "entities": ("count", "timeout", "lifetime", "else"),
    "command": ("timeout", "lifetime", "else"),
    "http": ("timeout", "lifetime", "else"),
    "push": ("lifetime",),
}
_LIFETIMES = {"glob": 2.0, "git": 2.0, "entities": 2.0, "command": 30.0, "http": 30.0, "push": 60.0}
COUNTING = ("glob", "entities")  # conditions read their counts


class Comparison(NamedTuple):
    """A comparison of a count with a number."""

    sign: str = ">="
    number: int = 1

    def holds(self, count: int) -> bool:
        """Return whether a count satisfies the comparison."""
        if self.sign == "!=":
            return count != self.number
        return (count == self.number and "=" in self.sign) or (
            count > self.number if ">" in self.sign else "<" in self.sign and count < self.number
        )


class Detector(NamedTuple):
    """How a state is detected: a key of its table, and the options next to it."""

    kind: str  # a key of `OPTIONS`
    value: tuple[str, ...]  # paths, a pattern, a fact, a variable, `file#keys`, a command line or a URL
    amount: Comparison = Comparison()  # the count for which it holds
    equals: Scalar | None = None  # None: any value
    timeout: float = _TIMEOUT  # seconds
    lifetime: float = 0.0  # seconds for which a result is kept
    otherwise: bool | None = None  # the value if it cannot be detected

    @property
    def runs(self) -> bool:
        """Whether it runs a program or asks a server, which needs trust."""
        return self.kind in ("command", "http") or (self.kind == "git" and self.value[0] in _ASKED_OF_GIT)

    @property
    def runs_program(self) -> bool:
        """Whether it runs a program, which may run code of the workspace whoever names it."""
        return self.runs and self.kind != "http"

    @property
    def counts(self) -> bool:
        """Whether conditions may read its count."""
        return self.kind in COUNTING

    @property
    def file(self) -> str | None:
        """The single file that its result depends on, if there is one."""
        path, sign, _ = self.value[0].rpartition("#") if self.kind in ("value", "entities") else ("", "", "")
        return path if sign else None


def read_detector(table: Mapping[str, Any]) -> Detector | None:
    """Return the detector of a valid table of a state; None without one."""
    kind = next((key for key in OPTIONS if key in table), None)
    if kind is None:
        return None
    written = table[kind]
    value = tuple(written) if isinstance(written, list) else () if kind == "push" else (str(written),)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - checked as a list of texts
    reads_files = kind == "git" and written not in _ASKED_OF_GIT
    return Detector(
        kind,
        value,
        comparison(table["count"]) or Comparison() if "count" in table else Comparison(),
        table.get("equals"),
        float(table.get("timeout", _TIMEOUT)),
        float(table.get("lifetime", 0.0 if reads_files else _LIFETIMES.get(kind, 0.0))),
        table.get("else"),
    )


def comparison(written: str | int) -> Comparison | None:
    """Parse a comparison; a number alone means equality. Returns None if it is invalid."""
    text = str(written).strip()
    sign = next((sign for sign in _SIGNS if text.startswith(sign)), "")
    digits = text.removeprefix(sign).strip()
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 10) or int(digits) > _LARGEST:
        return None
    return Comparison(sign or "==", int(digits))


def unlock(name: str, detector: Detector) -> str | None:
    """Explain how a person makes a detected state true; None if that is unknown."""
    kind, first = detector.kind, detector.value[0] if detector.value else ""
    path, _, keys = first.rpartition("#")
    facts = {
        "repository": "run `git init`",
        "branch": f"check out {detector.equals or 'a branch'}",
        "clean": "commit what is changed",
    }
    ways = {
        "file": f"create {first}",
        "glob": f"create a file that matches {first}",
        "env": f"set the variable {first}",
        "value": f"set {keys} in {path}",
        "push": f"have the application push `{name}`",
    }
    return facts.get(first) if kind == "git" else ways.get(kind)


def trust_reason(detector: Detector) -> str:
    """Say why a detector that runs something needs trust."""
    if detector.kind == "git":
        return "it starts git, which runs what the repository's settings name"
    return "it reaches a server" if detector.kind == "http" else "it runs a program"


def action(detector: Detector) -> str:
    """Write what a detector that runs something would run or reach."""
    if detector.kind == "git":
        return "git status"
    import shlex  # only for people

    return shlex.join(detector.value)


def is_plain_path(path: str) -> bool:
    """Return whether a path is relative, uses `/`, and contains no `..`."""
    parts = path.removesuffix("/").split("/")
    is_drive = ":" in parts[0]
    leads_down = all(part not in ("", ".", "..") and "\0" not in part for part in parts)
    return len(path) <= _LONGEST_PATH and not is_drive and "\\" not in path and leads_down


def url_problem(url: str) -> str | None:
    """Return why a URL cannot be requested; None if it can."""
    import re  # only when a file is checked

    match = re.fullmatch(
        r"(https?)://(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::[0-9]{1,5})?(?:/[!-~]*)?", url, re.IGNORECASE
    )
    if match is None or any(sign in url for sign in "?#@"):
        return "not a plain URL"
    loopback = r"localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]"
    if match[1].lower() == "http" and not re.fullmatch(loopback, match[2], re.IGNORECASE):
        return "others on the network can change plain http answers"
    return None
