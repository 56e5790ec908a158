"""A shop whose tools an agent of any framework may use as far as its `remit.toml` allows."""

from remit import requires, tool
from remit.audit.audit_log import CallQuery
from remit.bootstrap import open_registry

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


def recorded() -> list[tuple[str, str, str]]:
    """List the recorded calls of the project in this directory, oldest first: framework, tool, outcome."""
    with open_registry() as registry:
        found = registry.audit.find(CallQuery(), registry.at(".")).entries
    return [(each.client, each.tool, each.outcome) for each in reversed(found)]


def trust_servers() -> None:
    """Trust the servers that the project in this directory declares, as `remit trust --all` does."""
    with open_registry() as registry:
        here = registry.at(".")
        registry.trust.grant(registry.trust.servers(here), here)
