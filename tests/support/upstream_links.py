"""What tests of links are built from: real links, upstreams of real servers, and a caller that notes all."""

import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from remit.decision.launch import Launch, VariableSyntax
from remit.protocol.json_rpc import Answer, JsonRpcError, Params
from remit.upstream.launch.launch_resources import LaunchResources
from remit.upstream.oauth.token_store import FileTokenStore, TokenStore
from remit.upstream.transports.remote import RemoteConnector
from remit.upstream.transports.watchdog import Watchdog
from remit.upstream.upstream_model import Upstream
from remit.upstream.upstream_pool import LiveUpstreamPool, open_upstream_pool
from support.processes import SERVERS

SPEAKING = str(SERVERS / "two_era_server.py")


def speaking(era: str, *arguments: str, env: Mapping[str, str] | None = None) -> Launch:
    args = (SPEAKING, era, *arguments)
    return Launch(command=sys.executable, args=args, env=env or {}, syntaxes=(VariableSyntax.DEFAULTS,))


def upstream(launch: Launch, label: str = "speaking", **others: Any) -> Upstream:
    given: dict[str, Any] = {"directory": "/", "deadline": 60.0, **others}
    return Upstream(
        key=(label,), label=label, client="claude-code", launch=launch, source="/files/.mcp.json", **given
    )


def means(
    variables: Mapping[str, str], home: str = "/", sign_ins: TokenStore | None = None
) -> LaunchResources:
    client = {"name": "remit", "version": "0"}
    kept = sign_ins or FileTokenStore("/nowhere")
    return LaunchResources(
        variables=variables,
        home=home,
        client=client,
        watchdog=Watchdog(),
        remote=lambda: RemoteConnector(kept),
    )


@asynccontextmanager
async def links(
    variables: Mapping[str, str] | None = None, *, idle: float = 3_600, sign_ins: TokenStore | None = None
) -> AsyncGenerator[LiveUpstreamPool]:
    known = {"PATH": os.environ["PATH"], **(variables or {})}
    async with open_upstream_pool(means(known, sign_ins=sign_ins), idle=idle) as made:
        yield made


async def _refuse(method: str, _: Params) -> Answer:
    raise JsonRpcError(-32601, f"nobody answers {method}")


@dataclass
class Noting:
    """A caller that notes what it is told, and answers as it was made to."""

    session: str = "one"
    principal: str | None = None
    bound_projects: frozenset[str] | None = None
    capabilities: Mapping[str, Any] = field(default_factory=dict[str, Any])
    takes_input_required: bool = False
    log_level: str | None = None
    answer: Callable[[str, Params], Awaitable[Answer]] = _refuse
    told: list[tuple[str, Params]] = field(default_factory=list[tuple[str, Params]])

    async def send_request(self, method: str, params: Params) -> Answer:
        return await self.answer(method, params)

    async def notify(self, method: str, params: Params) -> None:
        self.told.append((method, params))


def said(answer: Answer) -> str:
    return answer["content"][0]["text"]


def tool(name: str, **arguments: object) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}
