"""The blocks that hold everywhere and for good, as permission rules of Claude Code.

The client keeps its own deny rules even if a repository switches hooks off. So what the user's and the
administrator's files block in every project, for every agent and in every state is written there, too.
"""

import re
from collections.abc import Iterable, Iterator

from remit.configuration.config_model import OF_A_PROJECT, ConfigurationContent, LoadedFile
from remit.configuration.policy_compiler import own_globs
from remit.decision.globs import Glob, glob, tool_globs
from remit.decision.tool_names import GATEWAY_TOOLS, MCP, OWN, normalise

_EXPRESSIBLE = re.compile(r"[\w*-]*", re.ASCII)  # a tool's name, in which `*` matches any characters
_OWN_NAMES = tuple(OWN + name for name in GATEWAY_TOOLS)


def static_blocks(loaded: Iterable[LoadedFile]) -> list[str]:
    """List the deny rules of all permanent blocks; a pattern that covers Remit's own tools is left out."""
    globs = (each for file in loaded if file.file.layer not in OF_A_PROJECT for each in _globs(file.content))
    found = (rule for each in globs for rule in _rules("*".join(each.parts)))
    return list(dict.fromkeys(rule for rule in found if _is_expressible(rule)))


def _globs(content: ConfigurationContent) -> Iterator[Glob]:
    for pattern in content.everyone.block:
        yield from tool_globs(pattern)
    for entry in content.tools:
        if entry.ai_enabled is False:
            yield from tool_globs(entry.pattern)
    for server in content.servers:
        prefix = MCP + "*".join(map(normalise, server.name.split("*")))
        for pattern in server.block:
            for own in own_globs(pattern):
                name = "*".join(own.parts)
                yield glob(name if name.startswith(MCP) else f"{prefix}__{name}")


def _rules(name: str) -> Iterator[str]:
    """Write a name as the client calls it: directly, and through the gateway."""
    yield name
    if name.startswith(MCP) and not name.startswith(OWN):
        yield OWN + name.removeprefix(MCP)


def _is_expressible(rule: str) -> bool:
    is_tool = rule.startswith((MCP, "*")) or rule[:1].isupper()
    is_name = is_tool and _EXPRESSIBLE.fullmatch(rule) is not None
    return is_name and not any(map(glob(rule).matches, _OWN_NAMES))
