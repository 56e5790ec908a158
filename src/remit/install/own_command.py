"""The command that starts this installation of Remit."""

import os
import subprocess
import sys
from functools import cache

from remit.errors import InstallError

_ENV = "/usr/bin/env"
# Python looks for its libraries where these say, whatever its flags: a repository that sets one of them for
# its client would run its own code in the place of Remit.
_MISLEADING = ("PYTHONEXECUTABLE", "__PYVENV_LAUNCHER__")


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
        hint="install it with `uv tool install` or `pipx install`, and run that one",
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
