"""Pools with real servers, written by hand, that do what a gateway has to cope with."""

import json
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from remit.decision import Launch, Offer, VariableSyntax
from remit.protocol import Answer
from remit.trust import StartPermit, permit_start
from remit.upstream import LocalLauncher, Upstream, UpstreamPool, open_pool
from support.builders import SHOP, declared

SERVERS = Path(__file__).parent / "servers"


def permit(launch: Launch, directory: str = "/") -> StartPermit:
    """Permit a launch, as for an entry in the user's own file."""
    permitted = permit_start(declared(launch=launch), SHOP, home=directory, trusted={})
    assert permitted is not None
    return permitted


def upstream(launch: Launch, label: str = "speaking", *, directory: str = "/", **fields: Any) -> Upstream:
    given: dict[str, Any] = {"client": "claude-code", "source": "/files/.mcp.json", **fields}
    return Upstream(key=(label,), label=label, permit=permit(launch, directory), **given)


def two_eras(era: str, *arguments: str, env: Mapping[str, str] | None = None) -> Launch:
    """Return the launch of a server with many tools, of the era `old` or `new`."""
    args = (str(SERVERS / "two_eras.py"), era, *arguments)
    return Launch(command=sys.executable, args=args, env=env or {}, syntaxes=(VariableSyntax.DEFAULTS,))


def script(text: str, env: Mapping[str, str] | None = None) -> Launch:
    """Return the launch of a server that is a few lines of Python."""
    return Launch(command=sys.executable, args=("-c", text), env=env or {})


class Lists:
    """What was handed over."""

    def __init__(self) -> None:
        self.offers: list[Offer] = []

    async def __call__(self, upstream: Upstream, offer: Offer) -> None:
        del upstream
        self.offers.append(offer)


def launcher(variables: Mapping[str, str] | None = None, data: str = "/nowhere") -> LocalLauncher:
    known = {"PATH": os.environ["PATH"], **(variables or {})}
    return LocalLauncher(known, "/", data)


@asynccontextmanager
async def running_pool(
    variables: Mapping[str, str] | None = None,
    *,
    on_list: Any = None,
    idle: float = 3_600,
    data: str = "/nowhere",
) -> AsyncGenerator[UpstreamPool]:
    async with open_pool(launcher(variables, data), on_list=on_list or Lists(), idle=idle) as pool:
        yield pool


def tool(name: str, **arguments: object) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def text_of(answer: Answer) -> str:
    return answer["content"][0]["text"]


def told(answer: Answer) -> Any:
    return json.loads(text_of(answer))
