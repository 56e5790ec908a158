"""Runs the real git."""

import os
import subprocess
from pathlib import Path


def git(*arguments: str, cwd: Path) -> None:
    """Run git without the user's configuration."""
    settings = (
        "user.name=Ada",
        "user.email=ada@localhost",
        "protocol.file.allow=always",
        "init.defaultBranch=main",
    )
    options = [word for setting in settings for word in ("-c", setting)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(cwd), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *options, *arguments], cwd=cwd, env=environment, check=True, capture_output=True)
