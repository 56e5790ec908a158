"""Rates the danger of a tool by its parameters: their names, their choices and what they say about them."""

import json
import re
from collections.abc import Iterator

from remit.decision.danger import READING_VERBS, Danger, Rating, by_name, is_reading, word_danger
from remit.text.json_values import as_list, as_object
from remit.text.words import split

_PROGRAMS_WORDS = """
    bash_command cmd code command command_line javascript python_code script shell_command shellcommand
    source_code
"""
_PROGRAMS = frozenset(_PROGRAMS_WORDS.split())
_INTERPRETERS_WORDS = """
    bash console interpreter javascript js jupyter kernel lua node notebook perl php powershell python repl
    ruby sandbox shell sh terminal
"""
_INTERPRETERS = frozenset(_INTERPRETERS_WORDS.split())
_QUERIES = frozenset({"sql", "sql_query", "sql_statement", "statement"})  # which may only read
_EXECUTING = frozenset({"eval", "evaluate", "exec", "execute", "invoke", "run"})
_OVERWRITING = frozenset({"overwrite", "overwrite_existing", "force_overwrite", "force_delete"})
_REHEARSING = frozenset({"dry_run", "dryrun"})
_CHOOSING_WORDS = "action actions command method mode op operation operations subcommand verb"
_CHOOSING = frozenset(_CHOOSING_WORDS.split())
_DESTROYING = frozenset({"delete", "destroy", "erase", "purge", "wipe"})
_WORD = re.compile(r"[A-Za-z]+")
_DEEPEST = 4  # levels of a schema


def by_parameters(schema: str | None, tool: str) -> Iterator[Rating]:
    """Rate a tool by its parameters; an optional one of a tool that reads may only be a filter."""
    read = as_object(json.loads(schema) if schema else {})
    required = as_list(read.get("required"))
    reads = is_reading(tool)
    for name, each in as_object(read.get("properties")).items():
        for rating in _by_parameter(name, as_object(each)):
            is_filter = reads and name not in required
            yield rating._replace(is_vague=rating.is_vague or is_filter)
    if runs_code(schema) and not _INTERPRETERS.isdisjoint(split(tool).lower().split()) and not reads:
        yield Rating(Danger.DESTRUCTIVE, "its name is that of an interpreter, and it takes a program")


def runs_code(schema: str | None) -> bool:
    """Return whether a parameter takes a program or a command."""
    read: object = json.loads(schema) if schema else {}
    names = as_object(as_object(read).get("properties"))
    return not _PROGRAMS.isdisjoint(map(_plain, names))


def _by_parameter(name: str, schema: dict[str, object]) -> Iterator[Rating]:
    plain = _plain(name)
    said = f"its parameter `{plain}` says so"
    choices = [*_choices(schema, _DEEPEST)]
    if plain in _PROGRAMS | _QUERIES and not choices:
        yield Rating(Danger.DESTRUCTIVE, said, is_vague=True)
    if plain in _OVERWRITING:
        yield Rating(Danger.DESTRUCTIVE, said)
    if plain in _REHEARSING:
        yield Rating(Danger.MODERATE, said)
    if schema.get("type") == "boolean" and not _DESTROYING.isdisjoint(plain.split("_")):
        yield Rating(Danger.DESTRUCTIVE, said)
    yield from _by_choices(plain, choices)
    if not choices and plain.split("_")[-1] in _CHOOSING:
        yield from _by_told_choices(plain, str(schema.get("description") or ""))


def _by_choices(name: str, choices: list[str]) -> Iterator[Rating]:
    firsts = {split(each).lower().partition(" ")[0] for each in choices}
    is_mixed = not READING_VERBS.isdisjoint(firsts)
    are_verbs = is_mixed and all(each in READING_VERBS or word_danger(each) is not None for each in firsts)
    is_choosing = are_verbs or name.split("_")[-1] in _CHOOSING
    for choice in choices:
        rated = by_name(choice)
        if rated.level > Danger.LOW and (is_choosing or is_mixed):
            is_vague = rated.is_vague or not is_choosing
            yield Rating(rated.level, f"its parameter `{name}` can be `{choice}`", is_vague)


def _by_told_choices(name: str, text: str) -> Iterator[Rating]:
    for word in _WORD.findall(text):
        rated = word_danger(word.lower())
        if rated is not None and not rated.is_vague and word.lower() not in _EXECUTING:
            yield Rating(rated.level, f"its parameter `{name}` says `{word.lower()}`")


def _choices(schema: object, depth: int) -> Iterator[str]:
    """List the texts that a parameter can be."""
    read = as_object(schema)
    values = [*as_list(read.get("enum")), read.get("const")]
    yield from (value for value in values if isinstance(value, str))
    if depth:
        below = (
            read.get("items"),
            *(each for key in ("anyOf", "oneOf", "allOf") for each in as_list(read.get(key))),
        )
        for each in below:
            yield from _choices(each, depth - 1)


def _plain(name: str) -> str:
    return split(name).lower().replace(" ", "_")
