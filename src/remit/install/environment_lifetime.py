"""Whether the Python environment of this Remit may vanish, and how to get one that lasts."""

import os
import re
import tempfile
from typing import NamedTuple

_CACHE = re.compile(r"[\\/](?:archive-v\d+|environments-v\d+|pipx[\\/]\.cache)[\\/]")
_CHECKOUT = (".git", "pyproject.toml")
_OWN_SOURCE = os.path.join("src", "remit", "__init__.py")
INSTALL = "install it with `uv tool install` or `pipx install`, and run that one"


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
