"""Parses commands that fetch and run a package: which one, and whether its version is pinned."""

import re
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from remit.decision.declared_launch import program


class UnpinnedPackage(NamedTuple):
    """A package that is fetched in its latest version."""

    name: str
    pinned: str  # how to write it with a version; `{}` is the name
    lookup: str = ""  # a command that lists its versions


class PackageKind(StrEnum):
    """A kind of package."""

    NPM = "npm"
    PYPI = "pypi"
    OCI = "oci"


class PackageCommand(NamedTuple):
    """A command that fetches and runs a package."""

    kind: PackageKind
    package: str  # as written
    option: str  # that names it; empty: the first word does
    rest: tuple[str, ...]  # the words after it
    judge: "Callable[[str, str], UnpinnedPackage | None]"
    runner: str = ""  # the program that fetches it

    @property
    def name(self) -> str:
        """The package without its version."""
        return self._split[0]

    @property
    def version(self) -> str | None:
        """The version as written; None if there is none."""
        return self._split[1] or None

    @property
    def _split(self) -> tuple[str, str]:
        if self.kind is PackageKind.NPM:
            name, _, version = self.package[1:].partition("@")
            return self.package[:1] + name, version
        if self.kind is PackageKind.PYPI:
            match = _PYPI_PACKAGE.fullmatch(self.package)
            return (match[1], match[3] or "") if match else (self.package, "")
        path, sign, digest = self.package.partition("@")
        if sign:
            return path, digest
        before, slash, last = path.rpartition("/")
        name, _, tag = last.partition(":")
        return f"{before}{slash}{name}", tag

    @property
    def is_of_environment(self) -> bool:
        """Whether it is a program in the environment of a project, which a package there may bring."""
        return self.judge is _of_project

    @property
    def is_of_registry(self) -> bool:
        """Whether it comes from a registry, not from a repository, a URL or a file."""
        package = self.package.removeprefix("npm:")
        is_elsewhere = "://" in package or "git+" in package or _LOCAL.match(package)
        return not is_elsewhere and not (self.kind is PackageKind.NPM and _NPM_REPOSITORY.match(package))


class PackageRunner(NamedTuple):
    """A program that fetches and runs packages."""

    words: tuple[str, ...]
    kind: PackageKind
    judge: Callable[[str, str], UnpinnedPackage | None]  # given a package and the option that named it
    naming: tuple[str, ...]  # options that name the package, else the first word does
    takes_value: Callable[[str], bool]


_NPM_VERSION = re.compile(r"v?\d+\.\d+\.\d+(?:[-+][\w.+-]+)?")
_PYPI_VERSION = re.compile(r"v?\d[\w.+!-]*")
_PYPI_PACKAGE = re.compile(r"([^@=<>~!\s]+)\s*(?:(@|===?|[<>~!]=?)\s*(.*))?")
_NPM_REPOSITORY = re.compile(r"git[+@:]|github:|[\w.-]+/[\w.-]+(?:#|$)|https?://.*\.git(?:#|$)")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_LOCAL = re.compile(r"\.{1,2}(?:[\\/]|$)|[\\/~]|file:|[A-Za-z]:[\\/]|[^@:]+\.(?:tgz|whl)$")

_NPM_VALUES = re.compile(
    r"-p|--package|-c|--call|-w|--workspace|--registry|--cache|--userconfig|--loglevel|--prefix"
)
_UV_VALUES = re.compile(
    r"--from|--spec|--with|--with-editable|--with-requirements|-p|--python|-i|--index|--index-url"
    r"|--extra-index-url|--default-index|-f|--find-links|--directory|--project|--cache-dir|--config-file"
    r"|--env-file|-c|--constraints|--overrides|-P|--upgrade-package|--refresh-package|--resolution"
    r"|--prerelease|--exclude-newer|--link-mode|--keyring-provider|--index-strategy|--color|--pip-args"
)
_DOCKER_FLAGS = re.compile(
    r"-i|-t|-d|-P|-q|--interactive|--tty|--detach|--rm|--init|--privileged|--publish-all|--quiet"
    r"|--read-only|--no-healthcheck|--oom-kill-disable|--sig-proxy|--disable-content-trust|--replace"
)


def unpinned(words: Sequence[str]) -> UnpinnedPackage | None:
    """Find the unpinned package that a command runs; None without one."""
    found = package_command(words)
    return None if found is None else found.judge(found.package, found.option)


def package_command(words: Sequence[str]) -> PackageCommand | None:
    """Find the package that a command fetches and runs; None if there is none, or a variable names it."""
    words = list(_unwrapped(words))
    for runner in _RUNNERS:
        if tuple(words[: len(runner.words)]) == runner.words:
            option, package, rest = _package(words[len(runner.words) :], runner)
            is_known = package and "$" not in package and "{" not in package
            found = PackageCommand(runner.kind, package, option, rest, runner.judge, runner.words[0])
            return found if is_known else None
    return None


def _unwrapped(words: Sequence[str]) -> Iterator[str]:
    """Unwrap a command from its shell, with the program's bare name."""
    name, rest = program(words[0]), list(words[1:])
    if name == "cmd":
        rest = [word for at, word in enumerate(rest) if at > 1 or not word.startswith("/")]
    elif name in ("sh", "bash", "zsh") and len(rest) > 1 and re.fullmatch(r"-l?i?c", rest[0]):
        rest = rest[1].split()
    elif name == "env":
        rest = rest[next((at for at, word in enumerate(rest) if "=" not in word), len(rest)) :]
    else:
        yield name
        yield from rest
        return
    if rest:
        yield from _unwrapped(rest)


def _package(words: Sequence[str], runner: PackageRunner) -> tuple[str, str, tuple[str, ...]]:
    """Find the package among a runner's arguments, with the option that names it; empty without one."""
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            return "", word, tuple(rest)
        option, equals, value = word.partition("=")
        if not equals and runner.takes_value(option):
            value = next(rest, "")
        if option in runner.naming:
            return option, value, tuple(rest)
    return "", "", ()


def _of_npm(package: str, _option: str) -> UnpinnedPackage | None:
    package = package.removeprefix("npm:")
    if _LOCAL.match(package):
        return None
    if _NPM_REPOSITORY.match(package):
        repository, _, commit = package.partition("#")
        return None if _COMMIT.fullmatch(commit) else UnpinnedPackage(repository, "{}#<commit>")
    name, _, version = package[1:].partition("@")
    if "://" in package or _NPM_VERSION.fullmatch(version):
        return None
    return UnpinnedPackage(package[0] + name, "{}@<version>", "npm view {} version")


def _of_pypi(package: str, option: str) -> UnpinnedPackage | None:
    if "git+" in package:
        repository, _, ref = package.partition("#")[0].rpartition("@")
        is_ref = "://" in repository and "/" not in ref  # and not `ssh://git@host/...`
        if is_ref and _COMMIT.fullmatch(ref):
            return None
        return UnpinnedPackage(repository if is_ref else package, "{}@<commit>")
    match = _PYPI_PACKAGE.fullmatch(package)
    if match is None or _LOCAL.match(package) or "://" in package:
        return None
    name, operator, version = match.groups()
    if operator in ("@", "==", "===") and _PYPI_VERSION.fullmatch(version):
        return None
    return UnpinnedPackage(name, "{}==<version>" if option else "{}@<version>")


def _of_docker(image: str, _option: str) -> UnpinnedPackage | None:
    if "@sha256:" in image:
        return None
    path, slash, last = image.rpartition("/")
    name, _, tag = last.partition(":")
    if tag not in ("", "latest"):
        return None
    return UnpinnedPackage(f"{path}{slash}{name}", "{}:<tag>` or `{}@sha256:<digest>")


def _takes_value_in_npm(option: str) -> bool:
    return _NPM_VALUES.fullmatch(option) is not None


def _takes_value_in_uv(option: str) -> bool:
    return _UV_VALUES.fullmatch(option) is not None


def _takes_value_in_docker(option: str) -> bool:
    is_cluster = not option.startswith("--") and len(option) > 2  # `-it`, or `-eNAME` with its value
    return _DOCKER_FLAGS.fullmatch(option) is None and not is_cluster


def _of_project(_package: str, _option: str) -> UnpinnedPackage | None:
    return None  # the lock file of the project has its version


def _npm(*words: str) -> PackageRunner:
    return PackageRunner(words, PackageKind.NPM, _of_npm, ("-p", "--package"), _takes_value_in_npm)


def _pypi(*words: str) -> PackageRunner:
    return PackageRunner(words, PackageKind.PYPI, _of_pypi, ("--from", "--spec"), _takes_value_in_uv)


def _docker(*words: str) -> PackageRunner:
    return PackageRunner(words, PackageKind.OCI, _of_docker, (), _takes_value_in_docker)


_RUNNERS = (
    _npm("npx"),
    _npm("npm", "exec"),
    _npm("npm", "x"),
    _npm("bunx"),
    _npm("bun", "x"),
    _npm("pnpm", "dlx"),
    _npm("pnpx"),
    _npm("yarn", "dlx"),
    _pypi("uvx"),
    _pypi("uv", "tool", "run"),
    _pypi("pipx", "run"),
    PackageRunner(("uv", "run"), PackageKind.PYPI, _of_project, (), _takes_value_in_uv),
    _docker("docker", "run"),
    _docker("docker", "container", "run"),
    _docker("podman", "run"),
)
