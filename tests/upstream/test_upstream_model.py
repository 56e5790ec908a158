from dataclasses import replace

from remit.decision.declared_launch import Launch
from remit.decision.scopes import Scope
from remit.upstream.upstream_model import upstream
from support.builders import declared
from support.upstream_pools import permit


def test_an_upstream_starts_what_its_permit_contains() -> None:
    launch = Launch(command="run", args=("hunter22",), env={"A": "hunter22"})
    entry = replace(declared("till", Scope.PLUGIN, plugin="quill"), launch=Launch(command="other"))
    found = upstream(entry, permit(launch), deadline=5)
    assert (found.launch, found.label, found.deadline) == (launch, "till", 5)
    assert found.canonical("ring.up") == "mcp__plugin_quill_till__ring_up"


def test_neither_an_upstream_nor_its_permit_shows_what_it_runs() -> None:
    launch = Launch(command="run", args=("hunter22",), env={"A": "hunter22"})
    assert "hunter22" not in repr(upstream(declared(), permit(launch), deadline=5))
