"""Detects a value in a JSON, TOML or YAML file, without showing the value."""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from remit.configuration.detector_kinds import Detector, Scalar
from remit.decision.projects import Workspace
from remit.files.bounded_reader import FileError, Machine, read_text
from remit.files.formats import parse_json, parse_toml, parse_yaml
from remit.states.detectors.project_files import look
from remit.states.observations import Observation

LIMIT = 2**20  # bytes per file
_PARSERS: dict[str, Callable[[str], object]] = {
    "json": parse_json,
    "toml": parse_toml,
    "yaml": parse_yaml,
    "yml": parse_yaml,
}
_NOTHING = object()


def detect(detector: Detector, bases: Sequence[str], workspace: Workspace, _machine: Machine) -> Observation:
    """Check that a value exists, or equals the expected one."""
    (path,), name = detector.paths, ".".join(detector.keys)
    try:
        content = read(path, bases, workspace)
    except FileError as error:
        return Observation(None, ": ".join(filter(None, (path, error.place, error.reason))))
    if content is None:
        return Observation(False, f"there is no {path}")
    value = value_at(content, detector.keys)
    if value is _NOTHING or value is None:
        return Observation(False, f"{path} has no {name}")
    if detector.equals is None or _is_equal(value, detector.equals):
        return Observation(
            True, f"{path} has {name}" if detector.equals is None else f"{name} in {path} is so"
        )
    return Observation(False, f"{name} in {path} is another value")


def read(path: str, bases: Sequence[str], workspace: Workspace) -> object:
    """Read a file of the project; None if it does not exist.

    Raises:
        FileError: the file is invalid or outside the project.
    """
    for where, _ in look(path, bases, workspace):
        text = read_text(where, limit=LIMIT, within=[workspace.checkout])
        if text is not None:
            return _PARSERS[path.rpartition(".")[2]](text)
    return None


def value_at(content: object, keys: Sequence[str]) -> object:
    """Follow keys into tables and indexes into lists."""
    for key in keys:
        if isinstance(content, dict):
            content = cast("Mapping[str, object]", content).get(key, _NOTHING)
        elif isinstance(content, list) and key.isdecimal() and len(key) < 9:
            items = cast("list[object]", content)
            content = items[int(key)] if int(key) < len(items) else _NOTHING
        else:
            return _NOTHING
    return content


def _is_equal(value: object, wanted: Scalar) -> bool:
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)
