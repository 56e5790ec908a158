"""States in a workspace: found out, set and pushed, and the tools that they show and hide."""

from pathlib import Path

import pytest

from remit.core.decide import Context, Gate, Verdict
from remit.core.states import Value
from remit.errors import StateError, UnknownStateError
from remit.registry import Registry
from support import Desk, servers, stored

SUPERNAL = """
[states.project-loaded]
description = "A supernal project is loaded"
file = "supernal.yaml"

[states.has-requirements]
glob = "requirements/**/*.md"

[states."project.requirements.editing"]
kind = "workflow"
on = "requirement.create"

[tools."requirement.*"]
states = ["project-loaded"]
namespace = "requirement"

[tools."requirement.create"]
states = ["project-loaded", "git-initialized"]
danger = "moderate"
approval = true

[tools."requirement.save"]
states = ["project.requirements.editing"]

[tools."user.delete"]
ai_enabled = false
danger = "destructive"

[tools."mcp__deploy__*"]
when = "state('git-initialized') && git.branch != 'main'"

[tools."publishPost"]
location = { pages = ["/blog", "/posts/**"] }
"""
TOOLS = ("requirement.list", "requirement.create", "requirement.save", "user.delete", "publishPost")


@pytest.fixture
def shop(desk: Desk) -> Path:
    return desk.project("shop", git=False)


@pytest.fixture
def registry(desk: Desk) -> Registry:
    return desk.registry()


def visible(registry: Registry, at: Context) -> set[str]:
    return {tool.name for tool, decision in registry.tools(at) if decision.visible}


def value(registry: Registry, at: Context, name: str) -> Value:
    return registry.snapshot(at).state(name)


def test_the_tools_of_a_project_follow_what_is_going_on_in_it(
    desk: Desk, shop: Path, registry: Registry
) -> None:
    desk.write_state("deploy")
    desk.write(shop / "remit.toml", SUPERNAL)
    here = registry.at(str(shop))
    for name in TOOLS:
        registry.report(name, here, description=f"Does {name}.")
    assert visible(registry, here) == {"user.delete"}

    desk.write(shop / "supernal.yaml", "name: shop")
    assert visible(registry, here) == {"user.delete", "requirement.list"}

    desk.write(shop / ".git/HEAD", "ref: refs/heads/main\n")
    here = registry.at(str(shop))
    assert visible(registry, here) == {"user.delete", "requirement.list", "requirement.create"}

    registry.record("requirement.create", here, call_id="1", succeeded=True)
    assert "requirement.save" in visible(registry, here)

    desk.write(shop / ".git/HEAD", "ref: refs/heads/feature\n")
    assert "mcp__deploy__*" in visible(registry, here)

    registry.location.set(here, page="/posts/42")
    assert "publishPost" in visible(registry, here)
    registry.location.set(here, page="/users")
    assert "publishPost" not in visible(registry, here)


def test_what_is_missing_is_said_with_what_would_bring_it(desk: Desk, shop: Path, registry: Registry) -> None:
    desk.write(shop / "remit.toml", SUPERNAL)
    here = registry.at(str(shop))
    registry.report("requirement.create", here)
    explained = registry.explain("requirement.create", here)
    assert explained.decision.verdict is Verdict.HIDDEN
    assert explained.decision.gate is Gate.STATE
    assert explained.decision.reason == "needs state project-loaded (false: no supernal.yaml in shop)"
    assert explained.decision.unlock == "make supernal.yaml"


if __name__ == "__main__":
    print(StateError, UnknownStateError, servers, stored)
