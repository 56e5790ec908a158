"""`remit ask`: lets a person approve each call of a tool."""

import shlex
from collections.abc import Sequence

import click

from remit.bootstrap import open_configuration_file, open_registry
from remit.cli import render
from remit.cli.approvals.person_check import require_person
from remit.cli.options import CLIENT, PROJECT, WorkspaceOptions
from remit.cli.rules.rule_targets import (
    EVERYWHERE,
    FLAGS,
    NAMES,
    SHARED,
    chosen_layer,
    find_subject,
    hint_undo,
    place,
    rules_for,
    warn_of_missing_install,
    write_rules,
)
from remit.configuration.rule_edits import ASKED, remove, write
from remit.decision.decide import Verdict


@click.command()
@NAMES
@click.option("--off", is_flag=True, help="Stop asking: remove the rule.")
@EVERYWHERE
@SHARED
@PROJECT
@CLIENT
def ask(
    *, names: Sequence[str], off: bool, everywhere: bool, shared: bool, project: str, client: str | None
) -> None:
    """Ask a person before each call of a tool.

    NAME is a tool, a server, or a pattern such as `mcp__deploy__*`. Each call then waits for `remit approve`,
    or for your answer in the client. The rule is written to `remit.local.toml` at the root of this project,
    which applies only to you.
    """
    if off:
        require_person("stop asking before a call")
    layer = chosen_layer(everywhere=everywhere, shared=shared)
    with open_registry() as registry:
        context = WorkspaceOptions(project, client).context(registry)
        subjects = [find_subject(name, registry, context) for name in names]
        file = open_configuration_file(layer, context.workspace)
        found = {each: rules_for(each, file.text, ASKED) for each in subjects}
        if off:
            after = remove(file.text, [rule for rules in found.values() for rule in rules], ASKED)
        else:
            after = write(file.text, [each.pattern for each, rules in found.items() if not rules], ASKED)
        words = f"remit ask {'--off ' if off else ''}{shlex.join(names)}"
        is_changed = write_rules(file, after, words, layer)
        where = place(file.path, context)
        for subject, rules in found.items():
            render.out(f"{_said(is_asked=bool(rules), off=off)} in {where}: {subject}")
            decision = registry.explain(subject.pattern, context).decision
            if off and decision.verdict is Verdict.ASK:
                render.note(f"still asks: {decision.full_reason}")
    if not off:
        warn_of_missing_install(context, names, asks=True)
    if is_changed:
        hint_undo(f"remit ask {'' if off else '--off '}{shlex.join(names)}{FLAGS[layer]}", file, layer)


def _said(*, is_asked: bool, off: bool) -> str:
    if off:
        return "No longer asks" if is_asked else "No rule asks"
    return "Already asks" if is_asked else "Asks before each call"
