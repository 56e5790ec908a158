"""Which files of a project steer the program that starts a server: settings of package runners and the like.

`npx` reads `.npmrc`, which can load any script into the server. So these files count in the user's trust, as
the entry does. Of a file that changes often, only the part that a runner follows counts.
"""

from __future__ import annotations

import os
import re
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from remit.decision.declared_launch import program
from remit.decision.scopes import ancestors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from remit.decision.declared_launch import Launch

KeyPath = tuple[str, ...]


class CountedPart(StrEnum):
    """The part of a file that steers a runner."""

    WHOLE = "whole"
    KEYS = "keys"  # some keys of a JSON or TOML file
    VARIABLES = "variables"  # of a file of variables, those that steer code
    EXISTENCE = "existence"  # whether it exists: what is in it is the project's own code


class RunnerFile(NamedTuple):
    """A file that a runner looks for in a directory."""

    name: str
    part: CountedPart = CountedPart.WHOLE
    keys: tuple[KeyPath, ...] = ()


def _whole(*names: str) -> tuple[RunnerFile, ...]:
    return tuple(map(RunnerFile, names))


def _keys(name: str, *keys: str) -> RunnerFile:
    return RunnerFile(name, CountedPart.KEYS, tuple(tuple(key.split("/")) for key in keys))


# Version managers start the program that these choose, which may be a path in the project.
_VERSIONS = _whole(".tool-versions", "mise.toml", ".mise.toml")
_MANIFEST = "package.json"  # its keys: also the scripts that the entry names
_NPM = (*_whole(".npmrc", ".node-version"), _keys(_MANIFEST, "bin", "directories/bin"), *_VERSIONS)
_MANAGER = _keys(_MANIFEST, "packageManager", "devEngines")  # the program that pnpm and yarn hand over to
_PYTHON = (*_whole(".python-version", "sitecustomize.py", "usercustomize.py"), *_VERSIONS)
_PROJECT_TABLES = ("build-system", "project/scripts", "project/entry-points")
_UV = (
    *_whole("uv.toml", ".python-version"),
    _keys("pyproject.toml", "tool/uv", *_PROJECT_TABLES),
    *_VERSIONS,
)
_ENV = tuple(RunnerFile(name, CountedPart.VARIABLES) for name in (".env", ".env.local"))
_COMPOSE = (
    *(f"{name}.{ending}" for name in ("compose", "docker-compose") for ending in ("yaml", "yml")),
    *(f"{name}.override.{ending}" for name in ("compose", "docker-compose") for ending in ("yaml", "yml")),
)

_FILES: dict[str, tuple[RunnerFile, ...]] = {
    "npx": _NPM,
    "npm": _NPM,
    "pnpm": (*_NPM, _MANAGER, *_whole("pnpm-workspace.yaml", ".pnpmfile.cjs", ".pnpmfile.mjs")),
    "yarn": (*_NPM, _MANAGER, *_whole(".yarnrc", ".yarnrc.yml")),
    "bun": (*_NPM, *_whole("bunfig.toml"), *_ENV),
    "node": (*_whole(".node-version"), *_VERSIONS),
    "deno": (*_whole("deno.json", "deno.jsonc", ".npmrc"), *_VERSIONS),
    "uv": _UV,
    "uvx": _VERSIONS,  # it ignores the settings of a project
    "pipx": (RunnerFile("__pypackages__", CountedPart.EXISTENCE), *_VERSIONS),
    "python": _PYTHON,
    "poetry": (*_whole("poetry.toml"), _keys("pyproject.toml", "tool/poetry/scripts", *_PROJECT_TABLES)),
    "pdm": (*_whole("pdm.toml", ".pdm.toml"), _keys("pyproject.toml", "tool/pdm", *_PROJECT_TABLES)),
    "hatch": (*_whole("hatch.toml"), _keys("pyproject.toml", "tool/hatch", *_PROJECT_TABLES)),
    "pipenv": (_keys("Pipfile", "scripts", "source", "requires"), *_ENV),
    "compose": (*_whole(*_COMPOSE), *_ENV),
    "go": (*_whole("go.work"), *_VERSIONS),
    "cargo": _whole(".cargo/config.toml", ".cargo/config", "rust-toolchain", "rust-toolchain.toml"),
    "dotnet": _whole("nuget.config", "NuGet.Config", "global.json", ".config/dotnet-tools.json"),
    "bundle": (*_whole(".bundle/config", ".ruby-version", "Gemfile"), *_VERSIONS),
    "mise": _VERSIONS,
    "direnv": _whole(".envrc"),
}
_SAME = {
    "pnpx": "pnpm",
    "yarnpkg": "yarn",
    "bunx": "bun",
    "nodejs": "node",
    "tsx": "node",
    "ts-node": "node",
    "pypy": "python",
    "py": "python",
    "docker-compose": "compose",
    "dnx": "dotnet",
    "bundler": "bundle",
    "ruby": "bundle",
    "podman-compose": "compose",
    "corepack": "yarn",
}
_RUNS_SCRIPTS = ("npm", "pnpm", "yarn", "bun")
_BREAKS = re.compile(r"[\s;&|()<>`'\"]+")  # also those of a shell's text
_DIRECTORY_OPTIONS = ("-C", "--cwd", "--dir", "--directory", "--prefix", "--project", "cd")
_HERE = re.compile(r"\$\{?(?:workspaceFolder|CLAUDE_PROJECT_DIR|PWD)(?::-[^}]*)?\}?")
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_SCRIPT = re.compile(r"[\w:.-]{1,100}")


def launch_words(launch: Launch) -> list[str]:
    """List the words of all commands of a launch; a shell's text counts word by word."""
    parts = (launch.command, *launch.args, launch.headers_helper or "")
    return [word for part in parts for word in _BREAKS.split(part) if word]


def runner_files(words: Sequence[str]) -> list[RunnerFile]:
    """List the files that the runners among some words look for in their directory.

    A runner counts wherever it is: `env`, shells and many other programs start what their arguments name.
    """
    found: dict[str, RunnerFile] = {}
    for runner in dict.fromkeys(map(_runner, words)):
        for file in _FILES.get(runner, ()):
            scripts = _scripts(words) if file.name == _MANIFEST and runner in _RUNS_SCRIPTS else ()
            known = found.get(file.name, file).keys
            found[file.name] = file._replace(keys=tuple(dict.fromkeys((*known, *file.keys, *scripts))))
    return [*found.values(), *_modules(words)]


def runner_directories(launch: Launch, words: Sequence[str], here: str, root: str) -> list[str]:
    """List where the runners of a launch look: from where they work up to the root of the project.

    What is outside of the project is the user's.
    """
    start = os.path.join(here, _filled(launch.cwd or "", here))
    starts = [start, *(os.path.join(start, _filled(each, here)) for each in _named_directories(words))]
    found = (ancestors(os.path.normpath(each), up_to=root) for each in starts)
    return list(dict.fromkeys(directory for above in found for directory in above))


def _filled(written: str, here: str) -> str:
    return _HERE.sub(lambda _: here, written)


def _named_directories(words: Sequence[str]) -> Iterator[str]:
    """Yield the directories in which a command tells a runner to work, as written."""
    for at, word in enumerate(words):
        option, equals, value = word.partition("=")
        if option in _DIRECTORY_OPTIONS:
            yield value if equals else next(iter(words[at + 1 : at + 2]), "")


def _runner(word: str) -> str:
    name = re.sub(r"[\d.]+$", "", program(word))  # `python3.12`
    return _SAME.get(name, name)


def _scripts(words: Iterable[str]) -> Iterator[KeyPath]:
    """Yield the keys of the scripts that a command may name, with those that run before and after them."""
    for word in dict.fromkeys(words):
        if _SCRIPT.fullmatch(word):
            yield from (("scripts", f"{when}{word}") for when in ("", "pre", "post"))


def _modules(words: Sequence[str]) -> Iterator[RunnerFile]:
    """Yield what would take the place of the installed module that `python -m` names."""
    if "python" not in map(_runner, words):
        return
    for at, word in enumerate(words):
        name = word[2:] or "".join(words[at + 1 : at + 2]) if word.startswith("-m") else ""
        if _MODULE.fullmatch(name):
            top = name.partition(".")[0]
            for file in (f"{top}.py", f"{top}/__init__.py"):
                yield RunnerFile(file, CountedPart.EXISTENCE)
