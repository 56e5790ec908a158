"""Nothing of one project is ever found from another, whatever is searched for, and however."""

import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from remit.decision.scopes import Scope
from remit.search.ranking import SearchResults
from support.sandbox import Sandbox

SEARCHES = int(os.environ.get("REMIT_PROOF_EXAMPLES", "5000")) // 10
PROJECTS = ("shop", "blog", "bank")
_WORDS = """
    read write delete file folder page image screenshot send mail message search list create issue branch
    commit deploy database query table user password invoice order customer account report chart
"""
WORDS = _WORDS.split()


@pytest.mark.proof
def test_no_search_finds_another_projects_tools(sandbox: Sandbox) -> None:
    chance = random.Random(20261115)  # noqa: S311 - the same searches each time
    projects = [sandbox.project(name) for name in PROJECTS]
    for project in projects:
        fill(sandbox, project, chance)
    sandbox.write(sandbox.home / ".claude" / "commands" / "everywhere.md", command(chance))
    registry = sandbox.registry()
    for project in projects:
        registry.index(registry.at(str(project)))
    searchers = {
        (project.name, in_memory): registry.searcher(registry.at(str(project)), in_memory=in_memory)
        for project in projects
        for in_memory in (False, True)
    }
    seen: set[str] = set()
    for _ in range(SEARCHES):
        (home, _), searcher = chance.choice(list(searchers.items()))
        found = searcher.search(
            query(chance),
            scope=chance.choice([None, None, *Scope]),
            limit=chance.randint(1, 50),
            include_hidden=chance.random() < 0.5,
            min_score=chance.choice([None, 0.0]),
        )
        assert not strangers(found, home), found.query
        seen |= set(names(found))
    assert {name.partition("-")[0] for name in seen} == {"/shop", "/blog", "/bank", "/everywhere"}


def fill(sandbox: Sandbox, project: Path, chance: random.Random) -> None:
    """Give a project tools that read like everybody else's, but for their names."""
    for number in range(40):
        path = project / ".claude" / "commands" / f"{project.name}-{chance.choice(WORDS)}-{number}.md"
        sandbox.write(path, command(chance))


def command(chance: random.Random) -> str:
    return f"---\ndescription: {' '.join(chance.choices(WORDS, k=chance.randint(1, 6)))}\n---\n"


def query(chance: random.Random) -> str:
    """Some words, or the exact name of a tool of any project."""
    if chance.random() < 0.3:
        return f"{chance.choice(PROJECTS)}-{chance.choice(WORDS)}-{chance.randrange(40)}"
    return " ".join(chance.choices((*WORDS, *PROJECTS), k=chance.randint(1, 8)))


def names(found: SearchResults) -> Sequence[str]:
    return [*(item.tool.name for item in found.results), *found.nearest]


def strangers(found: SearchResults, home: str) -> list[str]:
    return [name for name in names(found) if not name.startswith((f"/{home}-", "/everywhere"))]
