"""The JSON of the pages is that of the commands, in generated worlds."""

import json
import time
from pathlib import Path
from random import Random
from typing import Any

import httpx2
import pytest

from support.builders import servers
from support.listed_tools import list_tools, tool
from support.sandbox import Sandbox
from support.web_pages import web_pages

LABELS = ("git", "mail", "notes", "search", "wiki")
VERBS = ("read", "write", "delete", "list", "send")
RULES = (
    '[servers.{0}]\nblock = ["{1}*"]\n',
    '[tools."mcp__{0}__{1}"]\nai_enabled = false\n',
    '[tools."mcp__{0}__*"]\nstates = ["ready"]\n',
    '[tools."mcp__{0}__{1}"]\napproval = true\n',
    '[tools."mcp__{0}__*"]\nwhen = "state(\'git-initialized\')"\n',
)


def world(sandbox: Sandbox, chance: Random) -> Path:
    """Declare servers at every scope, of which some list tools, and write rules about them."""
    sandbox.time = time.time_ns() // 1_000_000
    shop = sandbox.project("shop")

    def some() -> list[str]:
        return chance.sample(LABELS, k=chance.randint(1, 3))

    shared = some()
    sandbox.write(shop / ".mcp.json", json.dumps(servers(*shared), indent=1))
    sandbox.write_state(*some(), local={shop: servers(*some())})
    sandbox.write(sandbox.home / ".cursor/mcp.json", servers(*some()))
    if chance.random() < 0.5:
        sandbox.write(shop / "ready.txt", "")
    sandbox.write(shop / f".claude/commands/{chance.choice(VERBS)}.md", "Do it.")
    rules = {chance.choice(LABELS): chance.choice(RULES) for _ in range(3)}
    texts = [rule.format(label, chance.choice(VERBS)) for label, rule in rules.items()]
    sandbox.write(shop / "remit.toml", "\n".join(['[states.ready]\nfile = "ready.txt"\n', *texts]))
    with sandbox.registry() as registry:
        for label in shared:
            declared = [each.declaration.server for each in registry.catalog.resolved(registry.at(str(shop)))]
            if declared.count(label) == 1:
                names = chance.sample(VERBS, k=3)
                list_tools(
                    registry, shop, *(tool(name, f"{name} in {label}") for name in names), server=label
                )
                registry.usage.record(f"mcp__{label}__{names[0]}", registry.at(str(shop)))
        registry.index(registry.at(str(shop)))  # how much a search embeds itself depends on the time it takes
    return shop


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_each_page_has_the_json_of_its_command(sandbox: Sandbox, seed: int) -> None:
    chance = Random(seed)  # noqa: S311 - the same worlds each time
    shop = world(sandbox, chance)

    def printed(*words: str) -> Any:
        return json.loads(sandbox.remit(*words, "--json", cwd=shop).stdout)

    with web_pages(sandbox, shop) as pages, pages.browser() as browser:

        def shown(path: str, **params: str) -> Any:
            answer: httpx2.Response = browser.get(path, params=params)
            return answer.json()

        assert shown("/here.json") == printed("tools", "--all")
        client, mode = chance.choice(["all", "cursor"]), chance.choice(["plan", "bypass"])
        chosen = printed("tools", "--all", "--client", client, "--mode", mode)
        assert shown("/here.json", client=client, mode=mode) == chosen
        for label in LABELS:
            assert shown(f"/why/{label}.json") == printed("why", label)
        assert shown("/search.json", q="write a mail") == printed("search", "write a mail")
        cost, prune = shown("/cost.json"), printed("prune")
        assert cost.pop("prune") == {name: value for name, value in prune.items() if name != "file"}
        assert cost == printed("usage")
        assert shown("/servers.json") == printed("status")
