"""A list and a call never disagree, whatever is configured, whatever the states are, whoever asks how."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.clients.install_targets import ClientTargets
from remit.configuration.config_model import Strategy
from remit.decision.kinds import Kind
from remit.decision.tool_names import MEMORY_SERVER, REMIT
from remit.files.bounded_reader import Machine
from remit.gateway.endpoint import LiveEndpoint
from remit.install.install_record import InstallRecords
from remit.install.installer import Installer
from remit.install.recorded_environment import RecordedEnvironment
from remit.scanning.client_files import ClientFiles
from remit.upstream.ports import ServerLists
from support.builders import servers
from support.gateway_fakes import YES, FakeCaller, FakeLinks, call, endpoint, names, offered
from support.sandbox import Sandbox

EXAMPLES = int(os.environ.get("REMIT_PROOF_EXAMPLES", "500")) // 100
TOOLS = {"git": ("log", "push", "delete_branch"), "web": ("fetch", "post")}
SERVED = [f"{server}__{tool}" for server, tools in TOOLS.items() for tool in tools]
PATTERNS = st.sampled_from([*SERVED, "mcp__git__*", "mcp__web__*", "*", "mcp__*__p*"])


@dataclass(frozen=True)
class Setting:
    """What is configured, and how an endpoint is opened."""

    toml: str
    opening: Mapping[str, Any]
    are_ready: Sequence[bool]  # at one moment after the other


@st.composite
def _settings(draw: st.DrawFn) -> Setting:
    rules = draw(st.dictionaries(PATTERNS, st.sampled_from(["states", "approval", "ai_enabled"]), max_size=3))
    said = {"states": 'states = ["ready"]', "approval": "approval = true", "ai_enabled": "ai_enabled = false"}
    lists = draw(
        st.dictionaries(st.sampled_from(["allow", "block", "pinned"]), st.lists(PATTERNS, max_size=2))
    )
    lines = [f"{key} = {patterns!r}" for key, patterns in lists.items()]
    lines += [f"token_budget = {draw(st.sampled_from([0, 80, 6000]))}"]
    lines += [
        '[states.ready]\nfile = "ready"',
        f"[rooms.some]\ntools = {draw(st.lists(PATTERNS, max_size=3))!r}",
    ]
    lines += [f'[tools."{pattern}"]\n{said[what]}' for pattern, what in rules.items()]
    opening = {
        "strategy": draw(st.sampled_from([None, *Strategy])),
        "room": draw(st.sampled_from([None, None, "some"])),
        "mode": draw(st.sampled_from([None, None, "plan", "dontAsk", "bypass"])),
    }
    return Setting("\n".join(lines), opening, draw(st.lists(st.booleans(), min_size=1, max_size=3)))


@pytest.mark.long
@pytest.mark.proof
@given(_settings())
@settings(max_examples=EXAMPLES, deadline=None)
def test_what_is_shown_can_be_called_and_what_cannot_be_called_is_shown_nowhere(setting: Setting) -> None:
    with tempfile.TemporaryDirectory() as root:
        sandbox = Sandbox(root=Path(root).resolve())
        sandbox.home.mkdir()
        sandbox.write_state(*TOOLS)
        shop = sandbox.project("shop")
        sandbox.write(shop / "remit.toml", setting.toml)
        anyio.run(_check, sandbox, shop, setting)


async def _check(sandbox: Sandbox, shop: Path, setting: Setting) -> None:
    stocks: dict[str, ServerLists | Exception] = {
        server: ServerLists(tools=[offered(tool) for tool in tools]) for server, tools in TOOLS.items()
    }
    links = FakeLinks(stocks)
    async with endpoint(sandbox, links, shop, **setting.opening) as served:
        for is_ready in setting.are_ready:
            (shop / "ready").touch() if is_ready else (shop / "ready").unlink(missing_ok=True)
            shown = await _shown(served)
            callable_ = {name for name in SERVED if await _can_be_called(served, name, links)}
            found = await _found(served)
            assert shown & set(SERVED) <= callable_
            assert found & set(SERVED) == callable_
            for name in (shown | found) - set(SERVED):  # of memory
                why = await call(served, "why_tool", {"name": name})
                assert why["structuredContent"]["verdict"] != "hidden"
            if setting.opening["strategy"] in ("flat", "state", "manifest"):
                assert shown & set(SERVED) == callable_


async def _shown(served: LiveEndpoint) -> set[str]:
    """All tools that lists, groups, rooms and scopes tell of."""
    shown = {*await names(served)}
    for name in shown - set(SERVED):
        answer = await call(served, name)
        shown |= {item["name"] for item in answer["structuredContent"].get("tools", ())}  # memory's have none
    for scope in served.capabilities.get("extensions", {}).get("remit/scopes", {}).get("scopes", ()):
        shown |= {*await names(served, {"scope": scope})}
    return shown - {"git", "web", MEMORY_SERVER}


async def _found(served: LiveEndpoint) -> set[str]:
    answer = await call(served, "discover_tools", {"query": "git web tools that log push delete fetch post"})
    everything = {item["name"] for item in answer["structuredContent"]["tools"]}
    for name in SERVED:
        answer = await call(served, "discover_tools", {"query": name})
        everything |= {item["name"] for item in answer["structuredContent"]["tools"]}
    return everything


async def _can_be_called(served: LiveEndpoint, name: str, links: FakeLinks) -> bool:
    """Tell whether a call is passed on, directly and deferred alike."""
    before = len(links.asked)
    caller = FakeCaller(capabilities={"elicitation": {}}, answer=YES)
    direct = await call(served, name, {}, caller)
    deferred = await call(served, "call_tool", {"name": f"mcp__{name}"}, caller)
    passed = len(links.asked) - before
    assert passed in (0, 2)
    assert bool(direct.get("isError")) == bool(deferred.get("isError")) == (passed == 0)
    why = await call(served, "why_tool", {"name": name})
    assert (why["structuredContent"]["verdict"] != "hidden") == (passed == 2)
    return passed == 2


@dataclass(frozen=True)
class Held:
    """A server: where it is declared, and what its user has said of it."""

    scope: str
    is_approved: bool
    is_trusted: bool


_SCOPES = ("global", "local", "project")
_HELD = st.builds(Held, st.sampled_from(_SCOPES), st.booleans(), st.booleans())


@pytest.mark.long
@pytest.mark.proof
@given(st.fixed_dictionaries(dict.fromkeys(("wiki", "till", "scale"), _HELD)), st.booleans())
@settings(max_examples=EXAMPLES, deadline=None)
def test_after_an_install_lists_explanations_and_the_session_context_tell_of_what_the_gateway_serves(
    held: dict[str, Held], is_taken_out: bool
) -> None:
    with tempfile.TemporaryDirectory() as root:
        sandbox = Sandbox(root=Path(root).resolve())
        sandbox.home.mkdir()
        sandbox.provide(*held)
        anyio.run(_check_installed, sandbox, sandbox.project("shop"), held, is_taken_out)


async def _check_installed(
    sandbox: Sandbox, shop: Path, held: Mapping[str, Held], is_taken_out: bool
) -> None:
    _declare(sandbox, shop, held)
    machine = Machine(home=str(sandbox.home), variables=sandbox.variables, root=str(sandbox.root / "machine"))
    targets = ClientTargets(machine, lambda: ["/opt/remit"])
    recorded = RecordedEnvironment(str(sandbox.home))
    installer = Installer(targets, InstallRecords(machine), ClientFiles(machine), lambda: 1, recorded)
    installer.install("claude-code")
    stocks: dict[str, ServerLists | Exception] = {label: ServerLists(tools=[offered("do")]) for label in held}
    with sandbox.registry() as registry:
        here = registry.at(str(shop))
        trusted = [label for label, each in held.items() if each.scope == "project" and each.is_trusted]
        registry.trust.grant(registry.trust.servers(here, trusted) if trusted else [], here)
    async with endpoint(sandbox, FakeLinks(stocks), shop, strategy="flat") as served:
        listed = {name.partition("__")[0] for name in await names(served)}
    if is_taken_out:
        installer.uninstall("claude-code")
        listed = {label for label, each in held.items() if each.scope != "project" or each.is_approved}
    with sandbox.registry() as registry:
        here = registry.at(str(shop))
        visible = [tool for tool, said in registry.tools(here) if said.is_available and tool.source != REMIT]
        assert {tool.server for tool in visible if tool.kind is Kind.MCP_SERVER} == listed
        if not is_taken_out:
            assert {tool.server for tool in visible if tool.kind is Kind.MCP_TOOL} == listed
        told = registry.session_context(here)
        assert {label for label in held if f"- MCP: {label} (" in told} == listed
        for label, each in held.items():
            decision = registry.explain(label, here).decision
            assert decision.is_available == (label in listed)
            if not decision.is_available and each.is_approved:
                assert decision.unlock == f"look at it with `remit trust`, then run `remit trust {label}`"


def _declare(sandbox: Sandbox, shop: Path, held: Mapping[str, Held]) -> None:
    at = {scope: [label for label, each in held.items() if each.scope == scope] for scope in _SCOPES}
    approved = [label for label in at["project"] if held[label].is_approved]
    answers = {"hasTrustDialogAccepted": True, "enabledMcpjsonServers": approved, **servers(*at["local"])}
    sandbox.write_state(*at["global"], local={shop: answers})
    sandbox.write(shop / ".mcp.json", servers(*at["project"]))
