"""Nothing that a user can meet is undocumented."""

import importlib.util
import json
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from remit import errors
from remit.decision.gates import Gate
from remit.decision.kinds import Kind
from remit.decision.permissions.client_facts import CLIENTS
from remit.decision.scopes import Scope

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    return generate


def test_the_reference_of_the_command_line_is_what_the_commands_say() -> None:
    assert page("reference/cli.md") == generator().cli_reference(), "run `make docs`"


def test_the_page_of_frameworks_is_what_their_last_run_says() -> None:
    assert page("reference/compatibility.md") == generator().compatibility_reference(), "run `make docs`"


def test_the_last_run_of_frameworks_was_with_the_pinned_versions() -> None:
    table = tomllib.loads((ROOT / "tests/frameworks/frameworks.toml").read_text(encoding="utf-8"))
    found = json.loads(page("reference/compatibility.json"))
    assert list(found) == list(table), "run `make test-frameworks`"
    for name, entry in found.items():
        pinned = {f"{package}=={version}" for package, version in entry["versions"].items()}
        assert pinned == {re.sub(r"\[.*\]", "", each) for each in table[name]["packages"]}


def test_every_error_is_documented() -> None:
    raised = [name for name, value in vars(errors).items() if isinstance(value, type)]
    assert raised
    assert [name for name in raised if f"`{name}`" not in page("reference/errors.md")] == []
    assert [name for name in raised if name not in str(errors.__doc__)] == []


def test_every_variable_that_is_read_is_documented() -> None:
    source = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "src").rglob("*.py"))
    read = {*re.findall(r'variables\.get\("(\w+)"\)', source)}
    read |= {variable for client in CLIENTS.values() for variable in client.locating}
    assert read >= {"REMIT_HOME", "CLAUDE_CONFIG_DIR"}
    assert [name for name in sorted(read) if f"`{name}`" not in page("reference/settings.md")] == []


def test_every_client_is_documented() -> None:
    assert [name for name in CLIENTS if f"(`{name}`)" not in page("reference/clients.md")] == []


@pytest.mark.parametrize(
    ("words", "name"),
    [(Kind, "concepts/glossary.md"), (Scope, "concepts/scopes.md"), (Gate, "concepts/decisions.md")],
)
def test_every_word_of_the_vocabulary_is_explained(words: type[Kind | Scope | Gate], name: str) -> None:
    assert [word.value for word in words if f"`{word.value}`" not in page(name)] == []


def test_every_link_between_the_pages_leads_somewhere() -> None:
    pages = [*DOCS.rglob("*.md"), *ROOT.glob("*.md")]
    links = [
        (file, target)
        for file in pages
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", file.read_text(encoding="utf-8"))
        if "://" not in target
    ]
    assert len(links) > 10
    assert [f"{file}: {target}" for file, target in links if not (file.parent / target).exists()] == []


def test_every_link_to_a_section_names_a_heading() -> None:
    links = [
        (file, file.parent / target if target else file, section)
        for file in [*DOCS.rglob("*.md"), *ROOT.glob("*.md")]
        for target, section in re.findall(r"\]\(([^)#\s]*)#([^)]+)\)", file.read_text(encoding="utf-8"))
        if "://" not in target
    ]
    assert len(links) > 10
    assert [f"{file}: #{section}" for file, target, section in links if section not in sections(target)] == []


def sections(file: Path) -> set[str]:
    """Return the anchors that the site gives the headings of a page."""
    text = re.sub(r"```.*?```", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
    words = (re.sub(r"[^\w\s-]", "", heading) for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE))
    return {re.sub(r"[-\s]+", "-", each.strip().lower()) for each in words}


def test_every_page_is_on_the_site() -> None:
    nav = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    listed = {page for section in nav for pages in section.values() for page in pages}
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    reached_otherwise = {page for page in pages if page.startswith("decisions/")}
    assert listed <= pages
    assert pages - listed - reached_otherwise == set()
