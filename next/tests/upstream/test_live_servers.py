"""Many servers are listed side by side, and what is in the way is named without starting any."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from remit.catalog import JoinedConfigurations, Registry
from remit.clients import Scanner
from remit.decision import Kind, Launch, Offer, Status, VariableSyntax
from remit.errors import NotFoundError
from remit.files import Machine
from remit.store import open_store
from remit.upstream import Obstacle, ServerListing, Upstream, ask_all, refresh, start_obstacles
from support.builders import declared
from support.upstreams import launcher, script, two_eras, upstream

MACHINE = Machine("/home/ada", {"PATH": os.environ["PATH"], "TOKEN": "t"})


def test_servers_are_asked_side_by_side_and_a_failure_is_an_answer() -> None:
    good = [upstream(two_eras("old"), f"server {number}") for number in range(12)]
    bad = upstream(script("import sys; sys.exit('no luck')"), "bad")
    offers: dict[str, Offer] = {}

    def keep(server: Upstream, offer: Offer) -> None:
        assert threading.current_thread() is threading.main_thread()
        offers[server.label] = offer

    ask_all([*good, bad], launcher(), keep)
    failure = offers.pop("bad").failure
    assert failure is not None
    assert (failure.reason, failure.output) == ("ended before it answered (exit code 1)", ("no luck",))
    assert [len(offer.tools) for offer in offers.values()] == [9] * 12


def obstacle(launch: Launch, *, by_remit: bool = True, **fields: Any) -> Obstacle | None:
    entry = declared(launch=launch, **fields)
    return start_obstacles([entry], MACHINE, "/code", by_remit=by_remit).get(entry.key)


def test_a_program_or_file_that_is_missing_is_named_with_the_step_that_helps(tmp_path: Path) -> None:
    assert obstacle(Launch(command="no-such-program")) == Obstacle(
        "`no-such-program` is not on PATH", "install it, or write the whole path of the program"
    )
    assert obstacle(Launch(command=str(tmp_path / "server"))) is not None
    assert obstacle(Launch(command=sys.executable, args=("/no/such/file.py",))) == Obstacle(
        "the file to run does not exist", "correct the path"
    )
    assert obstacle(Launch(command="npx -y server")) == Obstacle(
        "its `command` contains arguments",
        'put the arguments into `args`: `npx` is the command, and `["-y", "server"]` its `args`',
    )
    assert obstacle(Launch(command=sys.executable)) is None
    assert obstacle(Launch(command="no-such-program"), status=Status.DISABLED) is None


def test_a_variable_that_is_not_set_counts_only_where_remit_starts_the_server() -> None:
    launch = Launch(
        command=sys.executable, env={"A": "${TOKEN}", "B": "${NOWHERE}"}, syntaxes=(VariableSyntax.DEFAULTS,)
    )
    missing = Obstacle("`NOWHERE` is not set", "set `NOWHERE` before the client is started")
    assert (obstacle(launch), obstacle(launch, by_remit=False)) == (missing, None)


def test_hooks_load_little_to_look_for_obstacles() -> None:
    heavy = ("asyncio", "dataclasses", "remit.secrets")
    code = f"import sys, remit.upstream.obstacles; print([name for name in {heavy} if name in sys.modules])"
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_refreshed_lists_are_stored_and_a_name_that_is_no_servers_is_refused(tmp_path: Path) -> None:
    home, directory = tmp_path / "home", tmp_path / "shop"
    directory.mkdir()
    home.mkdir()
    launches = {"two": two_eras("old"), "bad": script("import sys; sys.exit('no luck')")}
    entries = {name: {"command": launch.command, "args": launch.args} for name, launch in launches.items()}
    (home / ".claude.json").write_text(json.dumps({"mcpServers": entries}))
    machine = Machine(str(home), {"PATH": os.environ["PATH"]})
    store = open_store(":memory:")
    scanner = Scanner(store, machine, lambda: 1)
    heard: list[ServerListing] = []
    with Registry(
        store, machine, lambda: 1, scanner, JoinedConfigurations(store, machine, lambda: 1)
    ) as registry:
        context = registry.at(str(directory))
        listings = refresh(registry, context, [], heard.append, launcher=launcher())
        names = [item.tool.name for item in registry.tools(context) if item.tool.kind is Kind.MCP_TOOL]
        with pytest.raises(NotFoundError, match="no server is called `three` here"):
            refresh(registry, context, ["three"], heard.append, launcher=launcher())
    failures = {listing.tool.server: listing.failure for listing in listings}
    assert failures == {"two": None, "bad": "ended before it answered (exit code 1)"}
    assert sorted(listing.tool.server or "" for listing in heard) == ["bad", "two"]
    assert "mcp__two__echo" in names
