"""Installs the frameworks, each in an environment of its own: `install.py DIRECTORY [--slice]`.

An environment is made again only if its packages changed. Next to an integration, Remit itself is installed
from this checkout, with the tests' tools.
"""

import json
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import rmtree, which
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FRAMEWORKS: dict[str, dict[str, Any]] = tomllib.loads((HERE / "frameworks.toml").read_text("utf-8"))
TESTING = ["pytest==9.2.0", "hypothesis==6.170.15"]


def install(directory: Path, names: list[str]) -> None:
    """Make the environments that are missing or outdated, two at a time."""
    directory.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(2) as workers:
        for made in [workers.submit(_make, directory / name, FRAMEWORKS[name]) for name in names]:
            made.result()


def _make(environment: Path, framework: dict[str, Any]) -> None:
    with_remit = "integration" in framework
    wanted = [*framework["packages"], *(TESTING if with_remit else ())]
    stamp = environment / "installed.json"
    if stamp.exists() and json.loads(stamp.read_text("utf-8")) == wanted:
        return
    sys.stderr.write(f"installing {environment.name}\n")
    rmtree(environment, ignore_errors=True)
    _install(environment, [*wanted, *(["--editable", str(ROOT)] if with_remit else ())])
    stamp.write_text(json.dumps(wanted), "utf-8")


def _install(environment: Path, packages: list[str]) -> None:
    python = str(environment / "bin/python")
    uv = which("uv")
    if uv is not None:
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, environment], check=True)
        subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *packages], check=True)
        return
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile"]
    subprocess.run([*pip, "--disable-pip-version-check", *packages], check=True)


if __name__ == "__main__":
    is_slice = "--slice" in sys.argv
    install(
        Path(sys.argv[1]), [name for name, each in FRAMEWORKS.items() if each.get("in_ci") or not is_slice]
    )
