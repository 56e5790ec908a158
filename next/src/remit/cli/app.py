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
@click.option("--client", default="claude-code")
@click.option("--agent")
@click.option("--parent", "parents", multiple=True)
@click.option("--room")
@click.option("--strategy")
@click.option("--mode")
@click.option("--headless", is_flag=True)
@click.option("--http", "address", help="Serve many clients at HOST:PORT instead.")
@click.option("--allow-host", "hosts", multiple=True)
@click.option("--allow-origin", "origins", multiple=True)
def serve(
    directory: str,
    client: str,
    agent: str | None,
    parents: tuple[str, ...],
    room: str | None,
    strategy: str | None,
    mode: str | None,
    headless: bool,
    address: str | None,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
) -> None:
    """Serve the tools of this directory over MCP, on stdio or over HTTP."""
    import os

    from remit.bootstrap import open_gateway
    from remit.gateway import EndpointSpec, Hello, serve_stdio

    def say(words: str) -> None:
        click.echo(words, err=True)

    spec = EndpointSpec(os.path.realpath(directory), client, agent, parents, room, strategy, mode, headless)
    if address is None:
        raise SystemExit(serve_stdio(open_gateway(), Hello(spec, dict(os.environ)), say))
    from remit.gateway import Address, serve_http

    host, _, port = address.rpartition(":")
    where = Address(host.strip("[]") or "127.0.0.1", int(port))
    raise SystemExit(serve_http(open_gateway(), spec, where, hosts=hosts, origins=origins, say=say))


def main() -> None:
    """Run the command line."""
    remit()
