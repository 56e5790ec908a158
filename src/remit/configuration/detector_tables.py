"""Parses the detector of a state: one key of its table, and its options."""

import re
from collections.abc import Callable

from remit.configuration.detector_kinds import SOME, Comparison, Detector, DetectorKind, GitFact, comparison
from remit.configuration.table_fields import TableFields, listed
from remit.text.secrets import may_be_secret, names_a_secret

_MOST_PATHS = 20
_MOST_ARGUMENTS = 50
_LONGEST = 60.0  # longest timeout of a detector, in seconds
_A_DAY = 86_400.0


def read_detector(fields: TableFields) -> Detector | None:
    """Parse the detector of a state; None if it is missing or invalid."""
    given = fields.given(DetectorKind)
    if len(given) > 1:
        fields.note(given[1], f"a state has one detector, not {len(given)}: {listed(given)}")
        return None
    if not given:
        return None
    kind = DetectorKind(given[0])
    found = _READERS[kind](fields, kind)
    return None if found is None else _timed(fields, found)


def _timed(fields: TableFields, found: Detector) -> Detector:
    lifetime = 0.0 if found.reads_git_files else found.traits.lifetime
    return found._replace(
        timeout=fields.seconds("timeout", found.traits.timeout, _LONGEST),
        lifetime=fields.seconds("lifetime", lifetime, _A_DAY),
    )


def _paths(fields: TableFields, kind: DetectorKind) -> Detector | None:
    paths = fields.text_or_texts(kind)
    if len(paths) > _MOST_PATHS:
        fields.note(kind, f"{len(paths)} paths; at most {_MOST_PATHS} are allowed")
        return None
    return Detector(kind, paths=paths) if paths and _are_inside(fields, kind, paths) else None


def _are_inside(fields: TableFields, name: str, paths: tuple[str, ...]) -> bool:
    for path in paths:
        if not is_plain_path(path):
            fields.note(
                name,
                "a path is invalid or leads out of the project",
                "write it relative to the file's directory, with `/` and without `..`",
            )
            return False
    return True


def _glob(fields: TableFields, kind: DetectorKind) -> Detector | None:
    pattern = fields.text(kind)
    if pattern is None or not _are_inside(fields, kind, (pattern,)) or not _is_glob(fields, kind, pattern):
        return None
    return Detector(kind, glob=pattern, amount=_count(fields, "count"))


def _is_glob(fields: TableFields, name: str, pattern: str) -> bool:
    if all("**" not in part or part == "**" for part in pattern.split("/")):
        return True
    fields.note(name, "`**` must be a whole part of the path", "write `*` inside a name")
    return False


def _count(fields: TableFields, name: str) -> Comparison | None:
    if name not in fields:
        return None
    given = fields.scalar(name)
    found = comparison(given) if isinstance(given, str | int) and not isinstance(given, bool) else None
    if given is not None and found is None:
        fields.note(name, "expected a number, or a comparison with one", 'write it as in `count = ">= 3"`')
    return found


def _git(fields: TableFields, kind: DetectorKind) -> Detector | None:
    if fields.is_table(kind):
        table = fields.table(kind)
        table.only((GitFact.BRANCH,))
        branch = table.text(GitFact.BRANCH)
        if branch is None and GitFact.BRANCH not in table:
            table.note("", "expected `branch`, with a pattern of names")
        return None if branch is None else Detector(kind, fact=GitFact.BRANCH, branch=branch)
    fact = fields.one_of(kind, [fact for fact in GitFact if fact is not GitFact.BRANCH])
    return None if fact is None else Detector(kind, fact=GitFact(fact))


def _env(fields: TableFields, kind: DetectorKind) -> Detector | None:
    if not fields.is_table(kind):
        name = fields.text(kind)
        return None if name is None else Detector(kind, variable=name)
    table = fields.table(kind)
    table.only(("name", "equals"))
    name, equals = table.text("name"), table.text("equals")
    if name is None:
        table.note("name", "expected the name of a variable")
        return None
    if equals is not None and may_be_secret(equals, name):
        table.note("equals", "this may be a secret; keep secrets out of this file")
        return None
    return Detector(kind, variable=name, equals=equals)


def _value(fields: TableFields, kind: DetectorKind) -> Detector | None:
    table = fields.table(kind)
    if not fields.is_table(kind):
        return None
    table.only(("file", "at", "equals"))
    file = table.text("file")
    if file is None:
        table.note("file", "expected the path of a JSON, TOML or YAML file")
        return None
    if not _has_values(table, file):
        return None
    equals = table.scalar("equals")
    keys = _keys(table)
    is_good = _are_inside(table, "file", (file,)) and keys is not None
    return Detector(kind, paths=(file,), keys=keys, equals=equals) if is_good and keys else None


def _has_values(table: TableFields, file: str) -> bool:
    if file.endswith((".json", ".toml", ".yaml", ".yml")):
        return True
    table.note("file", "not the name of a JSON, TOML or YAML file", "it ends in .json, .toml, .yaml or .yml")
    return False


def _keys(table: TableFields) -> tuple[str, ...] | None:
    if table.is_list("at"):
        return table.texts("at")
    text = table.text("at")
    if text is None:
        table.note("at", "expected the path to a value", 'write it as in `at = "scripts.test"`')
        return None
    return tuple(text.split("."))


def _command(fields: TableFields, kind: DetectorKind) -> Detector | None:
    if kind in fields and not fields.is_list(kind):
        fields.note(
            kind,
            "expected a list: the program and each of its arguments",
            'it runs without a shell: `["gh", "auth"]`',
        )
        return None
    argv = fields.texts(kind) or ()
    if not argv or len(argv) > _MOST_ARGUMENTS:
        fields.note(kind, f"expected 1 to {_MOST_ARGUMENTS} words")
        return None
    if any(may_be_secret(word) for word in argv):
        fields.note(kind, "a word may be a secret; keep secrets out of this file")
        return None
    return Detector(kind, argv=argv, exits=fields.wholes("exit", 0, 255) or (0,))


def _http(fields: TableFields, kind: DetectorKind) -> Detector | None:
    url = fields.text(kind)
    if url is None:
        return None
    if problem := problem_of_url(url):
        fields.note(kind, problem, "write an https URL, or http to this machine, without user and query")
        return None
    return Detector(kind, url=url, statuses=fields.wholes("status", 100, 599))


def _entities(fields: TableFields, kind: DetectorKind) -> Detector | None:
    table = fields.table(kind)
    if not fields.is_table(kind):
        return None
    table.only(("glob", "file", "at", "database", "table"))
    ways = table.given(("glob", "file", "database"))
    if len(ways) != 1:
        table.note("", "expected one of `glob`, `file` with `at`, and `database` with `table`")
        return None
    way = ways[0]
    path = table.text(way)
    if path is None or not _are_inside(table, way, (path,)):
        return None
    count = _count(fields, "count") or SOME
    if way == "glob":
        return Detector(kind, glob=path, amount=count) if _is_glob(table, way, path) else None
    if way == "file":
        keys = _keys(table) if _has_values(table, path) else None
        return None if not keys else Detector(kind, paths=(path,), keys=keys, amount=count)
    name = table.text("table")
    if name is None:
        table.note("table", "expected the name of a table")
        return None
    return Detector(kind, database=path, table=name, amount=count)


def _push(fields: TableFields, kind: DetectorKind) -> Detector | None:
    if fields.flag(kind) is not True:
        fields.note(kind, "expected true")
        return None
    return Detector(kind)


def is_showable(variable: str) -> bool:
    """Return whether conditions may read a variable, whose value they show when they fail."""
    return not names_a_secret(variable)


_READERS: dict[DetectorKind, Callable[[TableFields, DetectorKind], Detector | None]] = {
    DetectorKind.FILE: _paths,
    DetectorKind.DIRECTORY: _paths,
    DetectorKind.GLOB: _glob,
    DetectorKind.GIT: _git,
    DetectorKind.ENV: _env,
    DetectorKind.VALUE: _value,
    DetectorKind.COMMAND: _command,
    DetectorKind.HTTP: _http,
    DetectorKind.ENTITIES: _entities,
    DetectorKind.PUSH: _push,
}


_LONGEST_PATH = 1024


_URL = r"(https?)://(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::[0-9]{1,5})?(?:/[!-~]*)?"


_LOOPBACK = r"localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]"


def is_plain_path(path: str) -> bool:
    """Return whether a path is relative, uses `/`, and contains no `..`."""
    parts = path.removesuffix("/").split("/")
    is_drive = ":" in parts[0]
    return len(path) <= _LONGEST_PATH and not is_drive and "\\" not in path and _lead_down(parts)


def _lead_down(parts: list[str]) -> bool:
    return all(part not in ("", ".", "..") and "\0" not in part for part in parts)


def problem_of_url(url: str) -> str | None:
    """Return why a URL cannot be requested; None if it can."""
    found = re.fullmatch(_URL, url, re.IGNORECASE)
    if found is None or any(sign in url for sign in "?#@"):
        return "not a plain URL"
    if found[1].lower() == "http" and not re.fullmatch(_LOOPBACK, found[2], re.IGNORECASE):
        return "others on the network can change plain http answers"
    return None
