"""How this Remit was installed, and the commands that fit: to add a package next to it, and to remove it."""

import os
import shlex
import shutil
import sys
from importlib.util import find_spec
from typing import NamedTuple

_UV_TOOL = "uv-receipt.toml"  # files that an installer leaves in the environment of a tool
_PIPX = "pipx_metadata.json"


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
        return shlex.join(["rm", "-r", self.prefix, *self._links()])  # what that pipx would delete

    def _holds(self, name: str) -> bool:
        return os.path.exists(os.path.join(self.prefix, name))

    def _installer(self, action: str) -> list[str]:
        if self.has_pip:
            return [self.python, "-m", "pip", action]
        return ["uv", "pip", action, "--python", self.python]

    def _links(self) -> list[str]:
        """List the links on the PATH that lead to this command."""
        found = shutil.which("remit")
        own = os.path.join(os.path.realpath(self.prefix), "")
        is_ours = found is not None and os.path.islink(found) and os.path.realpath(found).startswith(own)
        return [found] if found is not None and is_ours else []


def own_environment() -> OwnEnvironment:
    """Return the environment of this process."""
    return OwnEnvironment(sys.prefix, sys.executable, find_spec("pip") is not None)
