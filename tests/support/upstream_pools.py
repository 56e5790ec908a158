"""Real upstream pools, upstreams of real servers, and a caller that records what it gets."""

import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from remit.configuration.config_model import (
    AccessLists,
    ConfigurationFile,
    ConfigurationLayer,
    SandboxOptions,
)
from remit.decision.declarations import Resolved
from remit.decision.declared_launch import Launch, VariableSyntax
from remit.decision.kinds import ConfigStatus
from remit.decision.projects import Workspace, identify
from remit.decision.scopes import Scope
from remit.protocol.json_rpc import Answer, JsonRpcError, Params
from remit.trust.server_sandbox import ServerSandboxes
from remit.trust.start_permit import StartPermit, permit_start
from remit.upstream.launch.launch_resources import LaunchResources
from remit.upstream.oauth.token_store import FileTokenStore, TokenStore
from remit.upstream.ownership import ServerLocks
from remit.upstream.principal_credentials.principal_credentials import PrincipalCredentials
from remit.upstream.transports.remote import RemoteConnector
from remit.upstream.transports.watchdog import Watchdog
from remit.upstream.upstream_model import Upstream
from remit.upstream.upstream_pool import UpstreamPool, open_upstream_pool
from support.builders import SHOP, declared
from support.processes import SERVERS

TWO_ERA_SERVER = str(SERVERS / "two_era_server.py")


def two_era_launch(era: str, *arguments: str, env: Mapping[str, str] | None = None) -> Launch:
    args = (TWO_ERA_SERVER, era, *arguments)
    return Launch(command=sys.executable, args=args, env=env or {}, syntaxes=(VariableSyntax.DEFAULTS,))


def permit(
    launch: Launch,
    directory: str = "/",
    sandbox: SandboxOptions | None = None,
    root: str = "/",
    home: str = "/",
) -> StartPermit:
    """Permit a launch, as for an entry in the user's own file, with a sandbox for the project at `root`."""
    entry = replace(declared("small", Scope.GLOBAL), launch=launch)
    item = Resolved(declaration=entry, config_status=ConfigStatus.ENABLED)
    file = ConfigurationFile(ConfigurationLayer.MACHINE, "/home/ada/.config/remit/remit.toml")
    servers = [] if sandbox is None else [(file, AccessLists("small", sandbox=sandbox))]
    sandboxes = ServerSandboxes(servers, {}, Workspace(root, root, identify(root)), home)
    made = permit_start(
        item, SHOP, home=directory, trusts={}, sandboxes=sandboxes, foreign=lambda _: frozenset()
    )
    assert made is not None
    return made


def upstream(launch: Launch, label: str = "speaking", *, directory: str = "/", **others: Any) -> Upstream:
    sandboxed = {name: others.pop(name) for name in ("sandbox", "root", "home") if name in others}
    permitted = permit(launch, directory, **sandboxed)
    given: dict[str, Any] = {"client": "claude-code", "deadline": 60.0, **others}
    return Upstream(key=(label,), label=label, permit=permitted, source="/files/.mcp.json", **given)


def launch_resources(
    variables: Mapping[str, str],
    home: str = "/",
    tokens: TokenStore | None = None,
    credentials: PrincipalCredentials | None = None,
    locks: ServerLocks | None = None,
) -> LaunchResources:
    client = {"name": "remit", "version": "0"}
    stored = tokens or FileTokenStore("/nowhere")
    return LaunchResources(
        variables=variables,
        home=home,
        client=client,
        watchdog=Watchdog(),
        remote=lambda: RemoteConnector(stored),
        credentials=None if credentials is None else lambda: credentials,
        locks=None if locks is None else lambda: locks,
    )


@asynccontextmanager
async def open_pool(
    variables: Mapping[str, str] | None = None,
    *,
    idle: float = 3_600,
    tokens: TokenStore | None = None,
    credentials: PrincipalCredentials | None = None,
) -> AsyncGenerator[UpstreamPool]:
    known = {"PATH": os.environ["PATH"], **(variables or {})}
    resources = launch_resources(known, tokens=tokens, credentials=credentials)
    async with open_upstream_pool(resources, idle=idle) as pool:
        yield pool


async def _refuse(method: str, _: Params) -> Answer:
    raise JsonRpcError(-32601, f"nobody answers {method}")


@dataclass
class RecordingCaller:
    """A caller that records notifications, and answers with a given function."""

    session: str = "one"
    principal: str | None = None
    bound_projects: frozenset[str] | None = None
    may_call: bool = True
    may_approve: bool = True
    can_move: bool = False
    capabilities: Mapping[str, Any] = field(default_factory=dict[str, Any])
    takes_input_required: bool = False
    log_level: str | None = None
    answer: Callable[[str, Params], Awaitable[Answer]] = _refuse
    told: list[tuple[str, Params]] = field(default_factory=list[tuple[str, Params]])

    async def send_request(self, method: str, params: Params) -> Answer:
        return await self.answer(method, params)

    async def notify(self, method: str, params: Params) -> None:
        self.told.append((method, params))


def text_of(answer: Answer) -> str:
    return answer["content"][0]["text"]


def tool(name: str, **arguments: object) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}
