"""Two teams in a shared store, each with a server of its own."""

from contextlib import closing
from pathlib import Path

from remit.bootstrap import open_team_admin
from support.sandbox import Sandbox


def add_teams(sandbox: Sandbox, address: str) -> None:
    """Create `payments` with `api` and `web`, and `search` with `index`."""
    sandbox.variables["REMIT_STORE"] = address
    with closing(open_team_admin(address)) as teams:
        for name, projects, server in (("payments", "api web", "till"), ("search", "index", "ranker")):
            teams.add(name, 1)
            for project in projects.split():
                teams.add_project(project, teams.find(name), 1)
            teams.put_server(server, f'{{"command": "{server}"}}', teams.find(name), 1)


def set_policy(sandbox: Sandbox, team: str, text: str) -> Path:
    """Store rules of a team with the command."""
    file = sandbox.write(sandbox.root / "rules.toml", text)
    done = sandbox.remit("team", "policy", "set", team, str(file))
    assert done.returncode == 0, done.stderr
    return file
