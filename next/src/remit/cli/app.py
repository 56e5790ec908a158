"""The command line."""

import json

import click


@click.group()
def remit() -> None:
    """Gives every AI agent exactly the tools it should have, and can always say why."""


@remit.command()
@click.option("-C", "directory", default=".")
@click.option("--all", "shows_all", is_flag=True)
@click.option("--json", "as_json", is_flag=True)
def tools(directory: str, shows_all: bool, as_json: bool) -> None:
    """List what is visible here."""
    from remit.bootstrap import open_registry
    from remit.cli.answers import listing

    with open_registry() as registry:
        context = registry.at(directory)
        listed = [item for item in registry.tools(context) if shows_all or item.decision.is_available]
        answer = listing(listed, context)
    if as_json:
        click.echo(json.dumps(answer, indent=2))
        return
    for item in listed:
        click.echo(f"{item.tool.name}  {item.decision.verdict}  {item.decision.full_reason}")


@remit.command()
@click.argument("name")
@click.option("-C", "directory", default=".")
@click.option("--json", "as_json", is_flag=True)
def why(name: str, directory: str, as_json: bool) -> None:
    """Explain why a tool is available here, or is not."""
    from remit.bootstrap import open_registry
    from remit.cli.answers import explained
    from remit.decision import ToolDecision

    with open_registry() as registry:
        context = registry.at(directory)
        explanation = registry.explain(name, context, for_person=True)
    if explanation.tool is None:
        raise click.ClickException(f"`{name}` is not known here")
    item = ToolDecision(explanation.tool, explanation.decision)
    answer = explained(item, explanation.gates, explanation.shadowed)
    click.echo(json.dumps(answer, indent=2) if as_json else item.decision.full_reason)


@remit.command()
@click.option("-C", "directory", default=".")
def serve(directory: str) -> None:
    """Serve the tools of this directory over MCP on stdio."""
    from remit.bootstrap import open_registry
    from remit.gateway import serve_stdio

    serve_stdio(open_registry, directory)


def main() -> None:
    """Run the command line."""
    remit()
