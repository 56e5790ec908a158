"""Names that people pass to `remit trust`: short ones, and those that mean nothing that needs trust."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remit.decision.context import Context, shorten
from remit.decision.kinds import Kind
from remit.decision.permissions.client_consents import trust_command
from remit.decision.tool_lookup import with_bare_name
from remit.decision.tool_names import spellings
from remit.errors import UnknownServerError
from remit.text.spelling import as_question, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from remit.registry import Registry
    from remit.trust.held_definitions import HeldDefinition


def in_full(name: str, changed: Sequence[HeldDefinition]) -> str:
    """Return the full name of the only tool here that its server calls by a name; else the name itself."""
    if any(item.is_called(name) for item in changed):
        return name
    meant = {item.name for item in changed if item.own_name == name}
    return meant.pop() if len(meant) == 1 else name


def unneeded_error(name: str, registry: Registry, context: Context) -> UnknownServerError | None:
    """Say that a known server or tool needs no trust; None if there is none of this name."""
    listed = registry.tools(context)
    own = next((item.tool for item in listed if item.tool.server == name), None)
    if own is not None and own.is_trusted is None:
        place = shorten(own.source, context)
        return UnknownServerError(f"`{name}` needs no trust: it is your own server, from {place}")
    names = {*spellings(name), *with_bare_name(name, listed)}
    tool = next((each for each, _ in listed if each.kind is Kind.MCP_TOOL and each.name in names), None)
    if tool is None:
        return None
    if tool.is_trusted is False:
        hint = f"run `{trust_command(tool.server)}`"
        return UnknownServerError(f"`{tool.name}` is not trusted: trust its server", hint=hint)
    return UnknownServerError(f"`{tool.name}` needs no trust: its definition is accepted")


def unknown_error(name: str, servers: Sequence[str], changed: Sequence[HeldDefinition]) -> UnknownServerError:
    """Say that nothing of a name needs trust, with the names that may be meant."""
    several = sorted({item.name for item in changed if item.own_name == name})
    if several:
        hint = as_question(several)
        return UnknownServerError(f"`{name}` is the name of several tools that are held", hint=hint)
    near = did_you_mean(
        name, [*servers, *(item.name for item in changed), *(item.own_name for item in changed)]
    )
    hint = near or "`remit trust` lists what does"
    return UnknownServerError(f"nothing called `{name}` needs your trust", hint=hint)
