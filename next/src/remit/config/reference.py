"""Writes the reference page of the configuration from the table of keys."""

from collections.abc import Iterator, Sequence

from remit.config.fields import ConfigKey, Either, Table, Tables
from remit.config.keys import TOP

_NAMES = {"states": "NAME", "tools": '"PATTERN"'}


def reference_page() -> str:
    """Return the tables of all keys, as Markdown."""
    return "\n".join(_sections()) + "\n"


def config_keys() -> Iterator[tuple[str, ConfigKey]]:
    """Yield each key that takes a value, with its path: `servers.NAME.sandbox.network`."""
    yield from _below("", TOP)


def _sections() -> Iterator[str]:
    yield from _table("Top level", [key for key in TOP.keys if not isinstance(key.type, Tables | Table)])
    for key in TOP.keys:
        if isinstance(key.type, Tables):
            title = f"`[{key.name}.{_NAMES.get(key.name, 'NAME')}]`"
            yield from _table(f"{title}: {key.meaning}", key.type.table.keys)
        elif isinstance(key.type, Table):
            yield from _table(f"`[{key.name}]`: {key.meaning}", key.type.keys)


def _table(title: str, keys: Sequence[ConfigKey]) -> Iterator[str]:
    yield from (f"## {title}", "", "| key | value | meaning | default | in a project's file |")
    yield "|---|---|---|---|---|"
    for key in keys:
        refused = ", ".join(f"not `{str(value).lower()}`" for value in key.refused)
        right = refused or key.project
        yield f"| `{key.name}` | {key.type.words} | {key.meaning} | {key.default} | {right} |"
        for inner in _inner(key):
            yield f"| `{key.name}.{inner.name}` | {inner.type.words} | {inner.meaning} | {inner.default} | |"
    yield ""


def _inner(key: ConfigKey) -> Iterator[ConfigKey]:
    for option in key.type.types if isinstance(key.type, Either) else (key.type,):
        if isinstance(option, Table):
            yield from option.keys


def _below(path: str, table: Table) -> Iterator[tuple[str, ConfigKey]]:
    for key in table.keys:
        place = f"{path}{key.name}"
        if isinstance(key.type, Tables):
            yield from _below(f"{place}.NAME.", key.type.table)
        elif isinstance(key.type, Table) and key.name not in ("location",):
            yield from _below(f"{place}.", key.type)
        else:
            yield place, key
            if key.name == "sandbox":
                yield from ((f"{place}.{inner.name}", inner) for inner in _inner(key))
