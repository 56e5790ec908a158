"""Shows a server's entry to the person who decides whether to trust it.

Programs and arguments are shown whole, because whatever is hidden could be what runs. Only secrets are
hidden: values of the user's own environment, and variables and headers that hold a credential.
"""

from __future__ import annotations

import shlex
from hashlib import sha256
from typing import TYPE_CHECKING

from remit.decision.declared_launch import references, steers_code
from remit.text.redaction import HIDDEN, hidden, redact, redact_url
from remit.text.secrets import may_be_secret, words_of
from remit.text.untrusted_text import one_line
from remit.trust.entry_secrets import is_hidden_header, is_hidden_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from remit.decision.declared_launch import Launch
    from remit.trust.trust_rule import ServerTrust


_LONGEST_PART = 2_000  # characters
_MARK = 4  # digits: enough to notice a change, and too few to guess the value
_SAME_OUTLINE = "a part that looks like a secret changed, or one that is not shown"


class EntryText:
    """Writes the parts of one entry; `secrets` are values that must not be shown.

    `is_program` tells whether a word is a command or a file of this machine.
    """

    def __init__(self, launch: Launch, secrets: Iterable[str], is_program: Callable[[str], bool]) -> None:
        self._launch = launch
        self._is_program = is_program
        self._secrets = sorted(secrets, key=len, reverse=True)

    @property
    def command(self) -> list[str]:
        """The program and its arguments."""
        return [self.shown(word) for word in (self._launch.command, *self._launch.args)]

    @property
    def url(self) -> str:
        """The URL."""
        return self.shown(self._launch.url)

    @property
    def headers_helper(self) -> str | None:
        """The command that prints headers."""
        helper = self._launch.headers_helper
        return None if helper is None else self.shown(helper)

    @property
    def cwd(self) -> str | None:
        """The working directory."""
        return None if self._launch.cwd is None else self.shown(self._launch.cwd)

    @property
    def runner_files(self) -> list[str]:
        """The files of the project that steer its runner."""
        return [self.shown(path) for path in sorted(self._launch.runner_files)]

    @property
    def env(self) -> dict[str, str]:
        """The variables."""
        launch, found = self._launch, sorted(self._launch.env.items())
        return {
            name: self._value(value, is_hidden_variable(launch, name, value, self._is_program))
            for name, value in found
        }

    @property
    def headers(self) -> dict[str, str]:
        """The headers."""
        launch, found = self._launch, sorted(self._launch.headers.items())
        return {name: self._value(value, is_hidden_header(launch, name, value)) for name, value in found}

    def lines(self, item: ServerTrust | None = None) -> Iterator[str]:
        """Write everything that it starts or reaches, line by line; with `item`, also what it is given."""
        launch = self._launch
        if item is not None and item.is_changed and item.trusted_entry is not None:
            yield from (f"  {line}" for line in outline_diff(item.trusted_entry, entry_outline(launch)))
        if launch.is_remote:
            yield f"  reaches {self.url}"
        else:
            yield f"  runs    {shlex.join(self.command)}"
        if self.headers_helper is not None:
            yield f"  runs    {self.headers_helper} (for its headers)"
        if self.cwd is not None:
            yield f"  in      {self.cwd}"
        for at, path in enumerate(self.runner_files):
            yield f"  {'' if at else 'reads':<7} {path} (can change which code runs)"
        if item is not None and not launch.is_remote:
            yield f"  sandbox {item.sandbox or 'none'}"
            yield from (f"          {self.shown(line)}" for line in (*_opened(item), *_limits(item)))
            yield f"  gets    {_inherited(item.inherits)}"
        for at, (name, value) in enumerate(self.env.items()):
            steers = " (can change which code runs)" if steers_code(name) else ""
            yield f"  {'' if at else 'env':<7} {name}={value}{steers}{self._handed(launch.env[name])}"
        for at, (name, value) in enumerate(self.headers.items()):
            yield f"  {'' if at else 'headers':<7} {name}={value}{self._handed(launch.headers[name])}"

    def _handed(self, value: str) -> str:
        """Name the user's variables that a value passes on."""
        handed = references(value, self._launch.syntaxes)
        return f" from your {', '.join(handed)}" if handed else ""

    def _value(self, value: str, is_hidden: bool) -> str:
        return hidden(value) if is_hidden else self.shown(value)

    def shown(self, text: str) -> str:
        """Hide the user's secrets in a text."""
        for secret in self._secrets:
            text = text.replace(secret, hidden(secret))
        return text


def entry_outline(launch: Launch) -> list[str]:
    """Write an entry without secrets, one line for each part, to store it and compare it with a later one.

    Values of variables and headers are left out: four digits tell that one has changed.
    """
    command = list(words_of((launch.command, *launch.args)))
    given = [*launch.env.items(), *launch.headers.items(), *((each.name, each.value) for each in command)]
    secrets = [value for name, value in given if may_be_secret(value, name)]
    words = [f"{word.prefix}{_plain(word.value, word.name)}" for word in command]
    parts = [
        *([f"runs {shlex.join(words)}"] if launch.command else []),
        *([f"reaches {redact_url(launch.url)}"] if launch.url else []),
        *([f"runs {_plain(launch.headers_helper)} (for its headers)"] if launch.headers_helper else []),
        *([f"in {_plain(launch.cwd)}"] if launch.cwd is not None else []),
        *(f"variable {name}{_mark(name, value)}" for name, value in sorted(launch.env.items())),
        *(f"header {name}{_mark(name, value)}" for name, value in sorted(launch.headers.items())),
    ]
    return [one_line(redact(part, secrets), _LONGEST_PART) for part in parts]


def outline_diff(before: Sequence[str], now: Sequence[str]) -> list[str]:
    """List the parts of an entry that were removed, with `-`, and added, with `+`."""
    changed = [
        *(f"- {part}" for part in before if part not in now),
        *(f"+ {part}" for part in now if part not in before),
    ]
    return changed or [_SAME_OUTLINE]


def _mark(name: str, value: str) -> str:
    """Mark a value so that another one shows; a secret has no mark, because nothing of it is stored."""
    digest = sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK]
    return "" if may_be_secret(value, name) else f" (value #{digest})"


def _plain(value: str, name: str = "") -> str:
    if "://" in value:
        return redact_url(value)
    return HIDDEN if may_be_secret(value, name) else value


def _opened(item: ServerTrust) -> Iterator[str]:
    """Write what the sandbox of a server opens besides what it names, and what it always opens."""
    if item.opened is None:
        return
    if item.opened.problem is not None:
        yield f"cannot run in it: {item.opened.problem}"
    elif item.opened.paths:
        yield f"to run, also reads {', '.join(item.opened.paths)}"


def _limits(item: ServerTrust) -> Iterator[str]:
    """Write how the sandbox of a trusted server differs from what its project declares now."""
    if item.is_limited:
        now = "no sandbox" if item.projects_sandbox is None else f"`{item.projects_sandbox}`"
        yield f"its project now declares {now}; trust it again to allow that"


def _inherited(inherits: bool | tuple[str, ...]) -> str:
    """Write which of the user's variables a server gets besides those of its entry."""
    if inherits is True:
        return "all your environment variables"
    names = ", ".join(("PATH", "HOME", *(inherits or ())))
    return f"{names} and the like; none of your other environment variables"
