"""The pages for the next owner of this code name what is there, all of it, and nothing else."""

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src/remit"
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PAGES = [
    ROOT / "CONTRIBUTING.md",
    ROOT / "docs/architecture.md",
    *sorted((ROOT / "docs/decisions").glob("*.md")),
]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE)
EXPLAINED_ELSEWHERE = {"help", "clean"}


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", text)


def is_there(name: str) -> bool:
    """Tell whether a file or folder exists; where a sentence names its folder, a page may leave it out."""
    is_path = any((place / name).exists() for place in (ROOT, SOURCE, ROOT / "tests", ROOT / "docs"))
    return is_path or any(chain(SOURCE.rglob(name.rstrip("/")), (ROOT / "tests").rglob(name.rstrip("/"))))


def test_the_map_of_packages_is_in_the_order_of_imports() -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = [layer.split(" | ") for layer in contract["contracts"][0]["layers"]]
    table = CONTRIBUTING.partition("| package |")[2].partition("\n\n")[0]
    named = [quoted(row.split("|")[1]) for row in table.splitlines()[2:]]
    mapped = [re.sub(r"/$|\.py$", "", name) for name in chain(*named)]
    kernel = {"errors", "settings"}
    assert mapped == [*sorted(kernel), *(name for name in chain(*reversed(layers)) if name not in kernel)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_file_that_a_page_names_exists(page: Path) -> None:
    named = [
        name for name in quoted(page.read_text(encoding="utf-8")) if re.search(r"(/|\.(py|sql|md))$", name)
    ]
    files = [name for name in named if not re.search(r"[A-Z]{4}|[*~ …]", name)]
    assert [name for name in files if not is_there(name)] == []


def test_every_target_of_make_is_explained_and_no_other() -> None:
    explained = set(re.findall(r"\bmake ([a-z-]+)", CONTRIBUTING))
    assert explained - set(TARGETS) <= {"common"}  # where to make common changes
    assert set(TARGETS) - explained == EXPLAINED_ELSEWHERE


def test_what_has_to_pass_is_what_ci_runs() -> None:
    ran = re.findall(r"^make ([a-z-]+)", (ROOT / ".ci/run").read_text(encoding="utf-8"), re.MULTILINE)
    told = re.search(r"^`\.ci/run` must pass: .*$", CONTRIBUTING, re.MULTILINE)
    assert told is not None
    assert re.findall(r"`make ([a-z-]+)`", told[0]) == ran


def test_make_says_what_takes_long_and_where_the_command_is() -> None:
    recipe = MAKEFILE.partition("$(VENV)/.installed:")[2].partition("\n\n")[0]
    assert recipe.index("Installing into $(VENV)") < recipe.index("pip install")
    install = MAKEFILE.partition("\ninstall:")[2].partition("\n\n")[0]
    assert "$$dir/remit init" in install
