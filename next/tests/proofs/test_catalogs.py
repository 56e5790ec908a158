"""One decision behind lists, calls, searches and explanations, and nothing of another project in them."""

import json
import random
from functools import partial
from pathlib import Path

import pytest

from remit.catalog import make_plan, serve
from remit.decision import Context, Kind
from support.catalogs import World

SECRETS = ("blogserver", "deploy_blog", "publishes the blog", "blog-review", "Reviews posts")


@pytest.fixture
def two(tmp_path: Path) -> tuple[World, Context, Context]:
    """Two projects, of which one has a server, its tools, a skill and a description of its own."""
    world = World(tmp_path)
    world.servers("git")
    world.lists("git", "log", "push")
    blog = world.root / "blog"
    (blog / ".git").mkdir(parents=True)
    content = {"projects": {str(blog): {"mcpServers": {"blogserver": {"command": "blogserver"}}}}}
    text = json.loads((world.home / ".claude.json").read_text())
    world.write(world.home / ".claude.json", json.dumps({**text, **content}))
    world.write(
        blog / ".claude/skills/blog-review/SKILL.md",
        "---\nname: blog-review\ndescription: Reviews posts\n---\n",
    )
    there, here = world.registry.at(str(blog)), world.here()
    shop, world.shop = world.shop, blog
    world.lists("blogserver", {"name": "deploy_blog", "description": "publishes the blog", "inputSchema": {}})
    world.shop = shop
    return world, here, there


def told(world: World, context: Context) -> str:
    """Collect everything that an agent can read in a context."""
    registry = world.registry
    gateway = registry.catalog(context._replace(face="gateway"))  # type: ignore[arg-type]
    endpoint = serve(gateway, make_plan(gateway.configuration))
    queries = ("deploy", "publishes the blog", "review posts", "blogserver")
    found = [registry.search(query, context, include_hidden=True) for query in queries]
    names = ("mcp__blogserver__deploy_blog", "blogserver", "blog-review", "deploy_blog")
    explained = [registry.explain(name, context)._replace(name="") for name in names]
    parts = [gateway.tools, endpoint.items, gateway.offers, [item.results for item in found], explained]
    nearest = [item.nearest for item in found]
    return repr([*parts, nearest, registry.request_cost(context)])


def test_nothing_of_another_project_is_in_what_an_agent_reads(two: tuple[World, Context, Context]) -> None:
    world, here, there = two
    assert all(secret in told(world, there) for secret in SECRETS)
    assert not [secret for secret in SECRETS if secret in told(world, here)]


def test_no_search_finds_another_projects_tools_and_their_texts_move_no_score(
    two: tuple[World, Context, Context],
) -> None:
    world, here, there = two
    assert world.registry.search("publishes the blog", there).results
    before = [item.score for item in world.registry.search("push", here, min_score=0).results]
    assert world.registry.search("publishes the blog", here).results == []
    shop, world.shop = world.shop, Path(there.workspace.dir)
    world.lists("blogserver", *(f"push_{at}" for at in range(50)))
    world.shop = shop
    world.registry = world.registry_of_another_process()
    assert [item.score for item in world.registry.search("push", here, min_score=0).results] == before


def test_lists_calls_searches_and_explanations_have_one_decision(tmp_path: Path) -> None:
    world, chance = World(tmp_path), random.Random(7)  # noqa: S311 - repeatable, and no secret
    labels, names = ("git", "wiki", "disk"), [f"tool_{at}" for at in range(5)]
    world.servers(*labels)
    for label in labels:
        world.lists(label, *names)
    world.shared('[states.a]\nfile = "a"\n[states.b]\nfile = "b"\n')
    effects = ('states = ["a"]', "when = \"!state('b')\"", "approval = true", "ai_enabled = false")
    for _ in range(12):
        names_of = {f"mcp__{chance.choice(labels)}__{chance.choice(names)}" for _ in range(6)}
        rules = "".join(f'[tools."{name}"]\n{chance.choice(effects)}\n' for name in sorted(names_of))
        world.shared(f'[states.a]\nfile = "a"\n[states.b]\nfile = "b"\n{rules}')
        for state in ("a", "b"):
            path = world.shop / state
            path.touch() if chance.random() < 0.5 else path.unlink(missing_ok=True)
        here = world.here(gateway=True)
        catalog = world.registry.catalog(here)
        endpoint = serve(catalog, make_plan(catalog.configuration))
        snapshot = world.registry.snapshot(catalog)
        decide = partial(endpoint.catalog.decide, snapshot=snapshot)
        listed = endpoint.catalog.at(snapshot)
        shown = {entry.tool.key for entry in endpoint.visible(listed)}
        for tool, decision in world.registry.tools(here):
            if tool.kind is not Kind.MCP_TOOL:
                continue
            called = endpoint.target(endpoint.name_of(tool), decide)
            assert called is not None
            assert called.decision == decision
            assert world.registry.explain(tool.name, here).decision == decision
            assert (tool.key in shown) == decision.is_available
            found = world.registry.search(tool.name, here, include_hidden=True).results
            assert decision in [item.decision for item in found if item.tool.key == tool.key]
