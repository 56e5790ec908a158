"""The command that starts this installation of Remit, and whether its Python environment lasts."""

import os
import re
import subprocess
import sys
import tempfile
from functools import cache
from typing import NamedTuple

from remit.errors import InstallError

_ENV = "/usr/bin/env"
# Python looks for its libraries where these say, whatever its flags: a repository that sets one of them for
# its client would run its own code in the place of Remit.
_MISLEADING = ("PYTHONEXECUTABLE", "__PYVENV_LAUNCHER__")
_CACHE = re.compile(r"[\\/](?:archive-v\d+|environments-v\d+|pipx[\\/]\.cache)[\\/]")
_CHECKOUT = (".git", "pyproject.toml")
_OWN_SOURCE = os.path.join("src", "remit", "__init__.py")
INSTALL = "install it with `uv tool install` or `pipx install`, and run that one"


def own_command() -> list[str]:
    """Return the command that starts this installation of Remit, whatever the directory and the variables.

    `-I` also ignores packages installed with `pip install --user`. For those, the other flags do the same:
    Python finds them through the home directory, which no repository can set.

    Raises:
        InstallError: Python does not find this installation without variables.
    """
    for flags in (["-I"], ["-E", "-P"]):
        command = [*without_variables(), sys.executable, *flags]
        if _finds_remit(*command):
            return [*command, "-m", "remit"]
    raise InstallError(
        f"{sys.executable} finds this Remit only with `PYTHONPATH` or in the current directory",
        hint=INSTALL,
    )


@cache
def _finds_remit(*command: str) -> bool:
    found = subprocess.run([*command, "-c", "import remit"], cwd=os.sep, capture_output=True)  # noqa: S603
    return found.returncode == 0


def without_variables() -> list[str]:
    """Return the words that start a program without the variables that mislead Python; none on Windows."""
    if not os.access(_ENV, os.X_OK):
        return []
    return [_ENV, *(word for name in _MISLEADING for word in ("-u", name))]


class ShortLived(NamedTuple):
    """An environment that may vanish."""

    kind: str  # what it is, after "in"
    path: str
    lasting: str  # how to install Remit for good


def short_lived(prefix: str, temporary: str | None = None) -> ShortLived | None:
    """Tell whether an environment may vanish: a runner's cache, a checkout's own, or a temporary one."""
    if _CACHE.search(prefix + os.sep):
        return ShortLived("a cache", prefix, INSTALL)
    parent = os.path.dirname(os.path.abspath(prefix))
    if any(os.path.lexists(os.path.join(parent, name)) for name in _CHECKOUT):
        is_ours = os.path.exists(os.path.join(parent, _OWN_SOURCE))
        return ShortLived(
            "the environment of a checkout", prefix, f"run `make install` in {parent}" if is_ours else INSTALL
        )
    temporary = os.path.realpath(temporary or tempfile.gettempdir())
    if os.path.realpath(prefix).startswith(temporary + os.sep):
        return ShortLived("a temporary directory", prefix, INSTALL)
    return None
