"""Record the answers of a Remit over the generated worlds, and over recorded servers: see `make oracle`.

    python -m oracle.record COMMAND [--data FOLDER] [--only WORLD]

COMMAND is a command line that starts Remit, FOLDER holds `real-mcp-tools`.
"""

import argparse
import json
import shlex
import tempfile
from pathlib import Path

from oracle.answers import Answers, Rows, ask
from oracle.servers import ask_servers
from oracle.worlds import WORLDS

RECORDED = Path(__file__).with_name("recorded")


def main() -> None:
    """Write a file for each world."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only")
    given = parser.parse_args()
    remit = shlex.split(given.command)
    RECORDED.mkdir(exist_ok=True)
    for world in WORLDS.values():
        if given.only in {None, world.name}:
            with tempfile.TemporaryDirectory() as root:
                _keep(world.name, ask(world, remit, Path(root)))
    if given.data:
        rows: Rows = {}
        for name in [*sorted(path.stem for path in given.data.glob("real-mcp-tools/*.json")), "several"]:
            with tempfile.TemporaryDirectory() as root:
                rows[name] = ask_servers(name, given.data, remit, Path(root) / "servers")
        _keep("servers", {"servers": rows})


def _keep(name: str, answers: Answers) -> None:
    (RECORDED / f"{name}.json").write_text(written(answers), encoding="utf-8")


def written(answers: Answers) -> str:
    """Write a line for each row."""
    commands: list[str] = []
    for command, rows in answers.items():
        lines = ",".join(f"\n    {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
        commands.append(
            f"  {json.dumps(command)}: {{{lines}\n  }}" if rows else f"  {json.dumps(command)}: {{}}"
        )
    return "{\n" + ",\n".join(commands) + "\n}\n"


if __name__ == "__main__":
    main()
