"""How this Remit was installed: the commands that start it, add packages to it and remove it."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

from remit.errors import InstallError

INSTALL = "install it with `uv tool install` or `pipx install`, and run that one"
_ENV = "/usr/bin/env"
# Python looks for its libraries where these say, whatever its flags: a repository that sets one of them for
# its client would run its own code in the place of Remit.
_MISLEADING = ("PYTHONEXECUTABLE", "__PYVENV_LAUNCHER__")
_CACHE = re.compile(r"[\\/](?:archive-v\d+|environments-v\d+|pipx[\\/]\.cache)[\\/]")
_UV_TOOL = "uv-receipt.toml"  # files that an installer leaves in the environment of a tool
_PIPX = "pipx_metadata.json"


def own_command() -> list[str]:
    """Return the command that starts this installation of Remit, whatever the directory and the variables.

    `-I` also ignores packages installed with `pip install --user`. For those, the other flags do the same:
    Python finds them through the home directory, which no repository can set.

    Raises:
        InstallError: Python does not find this installation without variables.
    """
    start = (
        [_ENV, *(word for name in _MISLEADING for word in ("-u", name))] if os.access(_ENV, os.X_OK) else []
    )
    for flags in (["-I"], ["-E", "-P"]):
        command = [*start, sys.executable, *flags]
        if _finds_remit(*command):
            return [*command, "-m", "remit"]
    raise InstallError(
        f"{sys.executable} finds this Remit only with `PYTHONPATH` or in the current directory",
        hint=INSTALL,
    )


@cache
def _finds_remit(*command: str) -> bool:
    return not subprocess.run([*command, "-c", "import remit"], cwd=os.sep, capture_output=True).returncode  # noqa: S603


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
    if any(os.path.lexists(os.path.join(parent, name)) for name in (".git", "pyproject.toml")):
        is_ours = os.path.exists(os.path.join(parent, "src", "remit", "__init__.py"))
        lasting = f"run `make install` in {parent}" if is_ours else INSTALL
        return ShortLived("the environment of a checkout", prefix, lasting)
    temporary = os.path.realpath(temporary or tempfile.gettempdir())
    if os.path.realpath(prefix).startswith(temporary + os.sep):
        return ShortLived("a temporary directory", prefix, INSTALL)
    return None


class OwnEnvironment(NamedTuple):
    """The Python environment that Remit runs in."""

    prefix: str
    python: str
    has_pip: bool  # its own, or the one that pipx shares with all its environments

    def add_command(self, *packages: str) -> str:
        """Return the command that installs packages next to Remit."""
        return shlex.join([*self._installer("install"), *packages])

    def remove_command(self) -> str:
        """Return the command that uninstalls Remit."""
        if self._holds(_UV_TOOL):
            return shlex.join(["uv", "tool", "uninstall", os.path.basename(self.prefix)])
        if not self._holds(_PIPX):
            return shlex.join([*self._installer("uninstall"), "remit"])
        if shutil.which("pipx") is not None:
            return shlex.join(["pipx", "uninstall", os.path.basename(self.prefix)])
        link = shutil.which("remit") or ""  # on the PATH; that pipx would delete it too
        own = os.path.join(os.path.realpath(self.prefix), "")
        is_ours = os.path.islink(link) and os.path.realpath(link).startswith(own)
        return shlex.join(["rm", "-r", self.prefix, *([link] if is_ours else [])])

    def _holds(self, name: str) -> bool:
        return os.path.exists(os.path.join(self.prefix, name))

    def _installer(self, action: str) -> list[str]:
        if self.has_pip:
            return [self.python, "-m", "pip", action]
        return ["uv", "pip", action, "--python", self.python]


def own_environment() -> OwnEnvironment:
    """Return the environment of this process."""
    return OwnEnvironment(sys.prefix, sys.executable, find_spec("pip") is not None)
