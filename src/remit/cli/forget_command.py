"""`remit forget`: erases everything stored about a project."""

from contextlib import closing

import click

from remit.bootstrap import open_registry
from remit.bootstrap_gateway import open_credentials
from remit.cli import render
from remit.cli.approvals.person_check import require_person
from remit.cli.onboarding import leftovers
from remit.cli.options import confirm


@click.command()
@click.argument("project")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
def forget(project: str, *, yes: bool) -> None:
    """Delete everything stored about a project.

    PROJECT is a directory in it, or its hash. Asks for confirmation, and lists the files that stay in it. A
    shared store keeps the audit log: only its owner can delete from it (`remit store prune`).
    """
    require_person("delete what is stored, with trust and accepted definitions")
    with open_registry() as registry:
        found = registry.projects.find(project)
        path = render.printable(found.path)
        confirm(f"Delete everything Remit stored about {path}?", yes=yes)
        registry.projects.forget(found)
    with closing(open_credentials()) as credentials:
        credentials.forget(found.hash)
    render.out(f"forgot {path}")
    leftovers.show(leftovers.of_projects([found.path]))
