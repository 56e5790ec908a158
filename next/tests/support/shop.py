"""A shop whose tools an agent of any framework may use as far as its `remit.toml` allows."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from remit.files import locate
from remit.python_tools import ToolRegistry, requires, tool
from remit.store import CallQuery, open_store

RULES = """
[states.cart]
description = "The cart has items"
file = "cart.txt"

[states.paid]
kind = "workflow"
on = "pay"

[tools.pay]
approval = true

[tools.ship]
states = ["cart"]

[tools.refund]
states = ["paid"]

[tools.delete_shop]
ai_enabled = false
"""
RAN: list[str] = []


def pay(amount: int) -> str:
    """Pay for the cart."""
    RAN.append(f"pay {amount}")
    return f"paid {amount}"


def ship(city: str) -> str:
    """Ship the cart to a city."""
    RAN.append(f"ship {city}")
    return f"shipped to {city}"


def refund() -> str:
    """Refund the payment."""
    RAN.append("refund")
    return "refunded"


def delete_shop() -> str:
    """Delete the shop."""
    RAN.append("delete")
    return "deleted"


def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"{city}: sunny"


TOOLS = [pay, ship, refund, delete_shop, weather]


@tool(name="till.pay", approval=True)
def pay_till(amount: int) -> str:
    """Pay at the till."""
    RAN.append(f"pay {amount}")
    return f"paid {amount}"


@tool(namespace="till")
@requires("cart")
async def count() -> int:
    """Count the items."""
    return 3


@contextmanager
def opened_shop(root: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[ToolRegistry]:
    """Make the shop's project the working directory, and open its registry."""
    RAN.clear()
    home, project = root / "home", root / "shop"
    home.mkdir()
    (project / ".git").mkdir(parents=True)
    (project / "remit.toml").write_text(RULES)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("REMIT_HOME", str(home))
    monkeypatch.chdir(project)
    with ToolRegistry(project=str(project)) as registry:
        yield registry


def recorded() -> list[tuple[str, str, str]]:
    """List the recorded calls of the project in this directory, oldest first: framework, tool, outcome."""
    store = open_store(os.path.join(os.environ["REMIT_HOME"], "remit.sqlite"))
    calls = store.calls.find(CallQuery(), locate("."))
    store.close()
    return [(call.client, call.tool, call.outcome) for call in reversed(calls)]
