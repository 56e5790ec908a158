"""An approval in PostgreSQL is spent once, whichever node asks first."""

import subprocess
from pathlib import Path

import pytest

from remit.approvals.approvals import Approval
from remit.approvals.call_binding import Binding
from remit.decision.projects import Workspace, identify
from remit.store.open_store import open_store
from support.postgres import Databases, needs_postgres
from support.processes import forked_script

TRIES = 200
PROJECT = identify("/code/shop")
SHOP = Workspace("/code/shop", "/code/shop", PROJECT)
SPEND = """
import sys
from remit.decision.projects import Workspace, identify
from remit.approvals.call_binding import Binding
from remit.store.open_store import open_store
shop = Workspace("/code/shop", "/code/shop", identify("/code/shop"))
store = open_store(sys.argv[1])
print("ready", flush=True)
for number in sys.stdin:
    binding = Binding("c", "t", "d", number.strip())
    print(int(store.approvals.use(binding, shop, 1500) is not None), flush=True)
"""

pytestmark = needs_postgres


@pytest.mark.long
def test_two_nodes_that_race_for_approvals_spend_each_once(databases: Databases, tmp_path: Path) -> None:
    address = databases.create()
    store = open_store(address)
    for number in range(TRIES):
        binding = Binding("c", "t", "d", str(number))
        wanted = Approval(str(number), binding, "{}", "asked", requested_at=1000, expires_at=2000)
        store.approvals.request(wanted, SHOP, forget_before=0, most=1000)
        store.approvals.answer(str(number), SHOP, 1200, is_approved=True)
    store.close()
    command = forked_script(tmp_path, SPEND, address)
    nodes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    assert [answer(node) for node in nodes] == ["ready", "ready"]
    won: list[list[str]] = []
    for number in range(TRIES):
        for node in nodes:
            assert node.stdin is not None
            node.stdin.write(f"{number}\n")
            node.stdin.flush()
        won.append([answer(node) for node in nodes])
    for node in nodes:
        node.communicate(timeout=60)
    assert all(sorted(each) == ["0", "1"] for each in won)


def answer(node: "subprocess.Popen[str]") -> str:
    assert node.stdout is not None
    return node.stdout.readline().strip()
