"""The real git, without the user's configuration."""

import os
import subprocess
from pathlib import Path

_SETTINGS = (
    "user.name=Ada",
    "user.email=ada@localhost",
    "protocol.file.allow=always",
    "init.defaultBranch=main",
)


def git(*arguments: str, cwd: Path) -> None:
    """Run git in a directory."""
    options = [word for setting in _SETTINGS for word in ("-c", setting)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(cwd), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *options, *arguments], cwd=cwd, env=environment, check=True, capture_output=True)
