"""The command that starts this installation of Remit."""

import os
import subprocess
import sys

from remit.errors import InstallError


def own_command() -> list[str]:
    """Return the command that starts this installation of Remit, whatever the directory and the variables.

    `-I` also ignores packages installed with `pip install --user`. For those, the other flags do the same:
    Python finds them through the home directory, which no repository can set.

    Raises:
        InstallError: Python does not find this installation without variables.
    """
    for flags in (["-I"], ["-E", "-P"]):
        command = [sys.executable, *flags]
        found = subprocess.run([*command, "-c", "import remit"], cwd=os.sep, capture_output=True)  # noqa: S603
        if found.returncode == 0:
            return [*command, "-m", "remit"]
    raise InstallError(
        f"{sys.executable} finds this Remit only with `PYTHONPATH` or in the current directory",
        hint="install it with `uv tool install` or `pipx install`, and run that one",
    )
