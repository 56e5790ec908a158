"""What the documents show is what the commands do."""

import ast
import json
import re
import shlex
from pathlib import Path

import click
import pytest

import remit
from remit.cli.app import app
from support.documents import PAGES, ROOT, World, blocks, commands, steps


@pytest.mark.long
@pytest.mark.parametrize("page", ["README.md", "docs/first-steps.md"])
def test_every_command_of_a_first_page_works_as_shown(page: str, tmp_path: Path) -> None:
    world = World(tmp_path)
    for block in blocks(ROOT / page):
        world.write(block)
        for step in steps(block) if block.language == "console" else ():
            run = world.run(step.command)
            output = run.stdout + run.stderr
            assert run.returncode == 0, f"{step.command}: {output}"
            missing = {word for word in step.telling if word not in output}
            assert not missing, f"{step.command}: no {missing} in {output}"


@pytest.mark.long
@pytest.mark.parametrize("page", ["docs/guides/python-tools.md", "docs/guides/search.md"])
def test_the_first_program_of_a_page_runs(page: str, tmp_path: Path) -> None:
    program = next(block for block in blocks(ROOT / page) if block.language == "python")
    world = World(tmp_path)
    (world.shop / "supernal.yaml").touch()  # the state of an example
    run = world.run_program(program.text)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_and_option_in_a_page_exists(page: Path) -> None:
    unknown = {command for command in commands(page) if not _exists(command)}
    assert not unknown


@pytest.mark.long
def test_every_configuration_in_a_page_is_valid(tmp_path: Path) -> None:
    world = World(tmp_path)
    own = tmp_path / ".config/remit/remit.toml"
    own.parent.mkdir(parents=True)
    for page in PAGES:
        for block in blocks(page):
            if block.language == "toml":
                own.write_text(block.text)
                found = json.loads(world.run("remit doctor --rules --json").stdout)["findings"]
                # An example may leave out the states that it needs.
                reasons = [item["reason"] for item in found if item["severity"] == "error"]
                assert [reason for reason in reasons if "unknown state" not in reason] == [], block.text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_name_that_a_program_in_a_page_imports_exists(page: Path) -> None:
    for block in blocks(page):
        for node in ast.walk(ast.parse(block.text)) if block.language == "python" else ():
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "remit":
                source = Path(remit.__file__).parent.joinpath(*str(node.module).split(".")[1:])
                text = (source / "__init__.py" if source.is_dir() else source.with_suffix(".py")).read_text()
                assert [alias.name for alias in node.names if alias.name not in text] == []


def test_every_target_of_make_that_a_page_names_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {name for page in PAGES for name in re.findall(r"(?m)(?:^|`)make ([a-z-]+)", _code(page))}
    assert named <= targets


def test_every_link_leads_to_a_page_and_a_heading_in_it() -> None:
    broken: list[str] = []
    for page in PAGES:
        for link in re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text(encoding="utf-8")):
            path, _, heading = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if not target.exists() or (heading and heading not in _headings(target)):
                broken.append(f"{page.relative_to(ROOT)}: {link}")
    assert broken == []


def _exists(written: str) -> bool:
    words = shlex.split(written, comments=True)
    if words[:1] != ["remit"] or "|" in words:
        return True
    command: click.Command = app
    rest = words[1:]
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        inner = command.get_command(click.Context(command), rest[0])
        if inner is None:
            return command is app and rest[0].isupper()
        command, rest = inner, rest[1:]
    options = {
        option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)
    }
    used = {word.partition("=")[0] for word in _before_dashes(rest) if word.startswith("-")}
    return used <= {*options, "--help", "-h", "--version"}


def _before_dashes(words: list[str]) -> list[str]:
    return words[: words.index("--")] if "--" in words else words


def _code(page: Path) -> str:
    text = page.read_text(encoding="utf-8")
    shell = "\n".join(block.text for block in blocks(page) if block.language == "sh")
    return "\n".join([shell, *re.findall(r"`[^`\n]+`", text)])


def _headings(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
