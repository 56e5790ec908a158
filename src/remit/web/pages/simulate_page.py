"""Simulate: a draft of the rules, what it would change, and writing it with an undo."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from markupsafe import escape

from remit.audit.audit_log import AuditOutcome
from remit.cli.output.json_output import Shape, asked_for
from remit.configuration.config_model import ConfigurationLayer
from remit.decision.context import Context, shorten
from remit.decision.kinds import Kind
from remit.decision.tool_names import MEMORY_SERVER
from remit.errors import PolicyError
from remit.text.times import moment
from remit.web.page_model import ActionResult, PageAnswer, PageRequest, PageSources, Values

if TYPE_CHECKING:
    from remit.registry import Registry
    from remit.simulation.simulator import AgentChanges, Simulation, ToolChange

PATH = "/simulate"
LAYERS = {
    ConfigurationLayer.LOCAL: "remit.local.toml: for you, in this project",
    ConfigurationLayer.PROJECT: "remit.toml: for everyone in this project",
    ConfigurationLayer.MACHINE: "your own remit.toml: for all your projects",
}
_TEAM = {ConfigurationLayer.TEAM: "the rules of the team: for all its projects"}
_COMMAND = "remit web"
_PLAIN = re.compile(r"[\w-]+", re.ASCII)  # a name that is safe in a comment
_EXAMPLE = """\
# Remove the first # of a line to try it, or write your own rules.

# block = ["{name}"]  # hidden from every agent

# [tools."{name}"]
# approval = true  # asks you before each call

# [agents.{agent}]
# block = ["{name}"]  # hidden from this agent only
"""
_SHOWN = 200  # changes of one agent


def read(sources: PageSources, asked: PageRequest) -> PageAnswer:
    """Show a file, or what a draft of it would change."""
    registry, context = sources.registry, asked.options.context(sources.registry)
    layer = _layer(asked)
    file = sources.openers.rules(layer, context.workspace)
    example = "" if file.text.strip() else _example(registry, context)
    text = _draft(asked, file.text, example)
    is_changed = text != file.text
    found = registry.simulator.run(text, layer, context) if is_changed else None

    def values() -> Values:
        last = sources.openers.journal().last() if asked.viewer is None else []
        return {
            "layer": layer.value,
            "layers": {each.value: words for each, words in _layers(asked).items()},
            "file": shorten(file.path, context),
            "text": escape(text),  # as it is: what cannot be seen is part of it
            "shown_text": escape(text if text.strip() else example),
            "base": digest_of(file.text),
            "diff": _diff(file.text, text, shorten(file.path, context)),
            "simulation": found,
            "views": [] if found is None else [_view(each) for each in found.views if each.changes],
            "shown": _SHOWN,
            "can_undo": bool(last) and last[-1].command == _COMMAND,
        }

    def shape() -> Shape:
        simulated = None if found is None else _shape(found)
        return {**asked_for(context), "file": file.path, "text": text, "simulation": simulated}

    return PageAnswer("simulate.html", shape, values)


def write(sources: PageSources, asked: PageRequest) -> ActionResult:
    """Write a draft that was shown.

    Raises:
        BadFileError: the file changed in the meantime.
        PolicyError: the file changed since the draft was shown, or the draft is invalid.
    """
    registry, context = sources.registry, asked.options.context(sources.registry)
    layer = _layer(asked)
    file = sources.openers.rules(layer, context.workspace)
    if digest_of(file.text) != asked.params.get("base"):
        raise PolicyError(f"`{file.path}` changed since the draft was made", hint="start a new draft")
    text = _draft(asked, file.text)
    if not registry.simulator.run(text, layer, context).is_valid:
        raise PolicyError("the draft is invalid", hint="correct it first")
    if asked.viewer is not None:
        file.write(text)
        registry.audit.note(file.path, AuditOutcome.CHANGED, context, by=asked.viewer.name)
        return ActionResult(PATH, f"Wrote `{file.path}`. It holds at every gateway within a second.")
    with sources.openers.journal().recording(_COMMAND):
        file.write(text)
    if layer is ConfigurationLayer.MACHINE:
        sources.openers.follow_rules()
    shared = " Commit it: then it applies to everyone." if layer is ConfigurationLayer.PROJECT else ""
    return ActionResult(
        f"{PATH}?layer={layer}", f"Wrote `{shorten(file.path, context)}`.{shared} `remit undo` takes it back."
    )


def undo(sources: PageSources, asked: PageRequest) -> ActionResult:  # noqa: ARG001 - it concerns no workspace
    """Undo the last change that was written here.

    Raises:
        FileChangeError: a file changed since; then nothing is undone.
        PolicyError: the last change was made elsewhere.
    """
    journal = sources.openers.journal()
    last = journal.last()
    if not last or last[-1].command != _COMMAND:
        raise PolicyError("the last change was not made here", hint="`remit undo` shows and undoes it")
    restored = journal.undo()
    sources.openers.follow_rules()
    return ActionResult(PATH, f"Restored {', '.join(f'`{path}`' for path in restored)}.")


def digest_of(text: str) -> str:
    """Return a digest by which a form names the text that it was made from."""
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _layers(asked: PageRequest) -> Mapping[ConfigurationLayer, str]:
    """Return the files that can be edited: on a gateway, none but the rules of the team."""
    return LAYERS if asked.viewer is None else _TEAM


def _layer(asked: PageRequest) -> ConfigurationLayer:
    given, layers = asked.params.get("layer", ""), _layers(asked)
    return next((each for each in layers if each.value == given), next(iter(layers)))


def _example(registry: Registry, context: Context) -> str:
    """Return rules to start from, as comments, with the names of this project."""
    tools = [item.tool for item in registry.tools(context) if _PLAIN.fullmatch(item.tool.name)]
    own = [tool.name for tool in tools if tool.kind is Kind.MCP_TOOL and tool.server != MEMORY_SERVER]
    agents = [tool.name for tool in tools if tool.kind is Kind.SUBAGENT]
    name, agent = next(iter(own), "WebFetch"), next(iter(agents), "NAME")
    return _EXAMPLE.format(name=name, agent=agent)


def _draft(asked: PageRequest, text: str, example: str = "") -> str:
    """Return the draft of a form, with the line ends of the file: browsers send others."""
    if "text" not in asked.params:
        return text
    draft = asked.params["text"].replace("\r\n", "\n")
    if draft and not draft.endswith("\n"):
        draft += "\n"
    draft = draft.replace("\n", "\r\n") if "\r\n" in text else draft
    return text if draft.rstrip() in (text.rstrip(), example.rstrip()) else draft


def _diff(before: str, after: str, path: str) -> Sequence[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), path, path, lineterm="")
    return list(lines)


def _view(view: AgentChanges) -> dict[str, object]:
    groups = {
        "hidden": [each for each in view.changes if not each.after.is_available],
        "shown": [each for each in view.changes if not each.before.is_available and each.after.is_available],
    }
    rest = [each for each in view.changes if each.before.is_available and each.after.is_available]
    return {"agent": view.agent, **groups, "changed": rest}


def _shape(found: Simulation) -> Shape:
    return {
        "valid": found.is_valid,
        "problems": [each._asdict() for each in found.problems],
        "views": [
            {"agent": view.agent, "changes": [_change(each) for each in view.changes]} for view in found.views
        ],
        "calls": found.calls,
        "refused": [
            {
                "tool": each.tool,
                "agent": each.agent,
                "calls": each.calls,
                "last_at": moment(each.last_at),
                "gate": each.decision.gate,
                "reason": each.decision.full_reason,
            }
            for each in found.refused
        ],
    }


def _change(change: ToolChange) -> Shape:
    return {
        "name": change.tool.name,
        "server": change.tool.server,
        "before": change.before.verdict,
        "after": change.after.verdict,
        "reason": change.after.full_reason,
    }
