"""`remit team policy`: the rules of a team, kept in the shared store."""

from __future__ import annotations

import sys
from contextlib import closing

import click

from remit.bootstrap import find_store, open_team_admin, open_teams
from remit.cli import render
from remit.cli.approvals.person_check import require_person
from remit.cli.options import ERRORS_FOUND
from remit.configuration.checks.team_policy import policy_problems
from remit.errors import NoSuchFileError, TeamError
from remit.files.bounded_reader import ANYWHERE, FileError, read_text

_LIMIT = 2**20


@click.group("policy")
def policy() -> None:
    """Manage the rules of a team."""


@policy.command("set")
@click.argument("team_name", metavar="TEAM")
@click.argument("file")
def set_policy(team_name: str, file: str) -> None:
    """Store a file like remit.toml as the rules of a team.

    They count for all projects of the team, at every gateway, within a second. They are stronger than the
    `remit.toml` of a gateway's user, and weaker than the administrator's. An empty file removes them.
    """
    require_person("change the rules of a team")
    try:
        text = read_text(file, limit=_LIMIT, within=ANYWHERE)
    except FileError as error:
        raise TeamError(f"`{render.printable(file)}`: {error.reason}") from error
    if text is None:
        raise NoSuchFileError(f"there is no file `{render.printable(file)}`")
    with closing(open_team_admin()) as teams:
        found = teams.find(team_name)
        problems = policy_problems(file, text)
        if problems:
            for problem in problems:
                place = f":{problem.place}" if problem.place else ""
                sys.stderr.write(render.printable(f"error: {problem.source}{place}: {problem.reason}") + "\n")
            sys.exit(ERRORS_FOUND)
        teams.set_policy(text if text.strip() else "", found)
    render.out(f"{found.owner.path} has {'new' if text.strip() else 'no'} rules")


@policy.command("show")
@click.argument("team_name", metavar="TEAM")
def show_policy(team_name: str) -> None:
    """Print the rules of a team."""
    with closing(open_teams(find_store().place)) as teams:
        text = teams.stored_policy(teams.find(team_name))
    sys.stdout.write(text if not text or text.endswith("\n") else f"{text}\n")
