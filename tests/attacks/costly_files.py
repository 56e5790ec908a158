"""Files and folders that cost far more to read than to write, each once known to stall a command."""

import json
import os
from collections.abc import Callable
from pathlib import Path

Build = Callable[[Path], None]


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def commands(repository: Path, count: int) -> None:
    for number in range(count):
        write(repository / f".claude/commands/c{number}.md", "hello\n")


def a_key_of_many_parts(repository: Path) -> None:
    text = ".".join(["a"] * 500_000) + " = 1\n"
    write(repository / "remit.toml", text)
    write(repository / ".codex/config.toml", text)


def many_keys_of_many_parts(repository: Path) -> None:
    text = "".join(f"k{number}{'.a' * 150} = 1\n" for number in range(3_000))
    write(repository / "remit.toml", text)
    write(repository / ".codex/config.toml", text)


def references_without_an_end(repository: Path) -> None:
    entry = {"command": "x", "args": ["${" * 300_000, *["${"] * 60_000], "env": {"A": "${" * 10_000}}
    write(repository / ".mcp.json", json.dumps({"mcpServers": {"x": entry}}))


def many_servers(repository: Path) -> None:
    servers = {f"s{number}": {"command": f"run-{number}"} for number in range(100_000)}
    write(repository / ".mcp.json", json.dumps({"mcpServers": servers}))
    some = {f"s{number}": {"command": f"run-{number}"} for number in range(20_000)}
    write(repository / ".cursor/mcp.json", json.dumps({"mcpServers": some}))


def skills_with_much_front_matter(repository: Path) -> None:
    fields = "".join(f"k{number}: [a, b, {{c: d}}]\n" for number in range(2_500))
    for number in range(300):
        write(repository / f".claude/skills/s{number}/SKILL.md", f"---\nname: s\n{fields}---\n")


def many_patterns_and_commands(repository: Path) -> None:
    rules = (f'[tools."*a*b*c*{number}"]\napproval = true\n' for number in range(1_500))
    write(repository / "remit.toml", "".join(rules))
    commands(repository, 2_000)


def many_conditions_and_commands(repository: Path) -> None:
    rules = (f'[tools."*c*{number}*"]\nwhen = "git.branch != \'b{number}\'"\n' for number in range(900))
    write(repository / "remit.toml", "".join(rules))
    commands(repository, 3_000)


def comments_and_commas(repository: Path) -> None:
    write(repository / "opencode.jsonc", "/*" * 500_000)
    write(repository / ".vscode/mcp.json", "{" + ",}" * 500_000)
    write(repository / ".zed/settings.json", "{\n" + "/*\n" * 300_000)


def many_permission_rules(repository: Path) -> None:
    names = [f"mcp__s{number}__*" for number in range(300_000)]
    write(repository / ".claude/settings.json", json.dumps({"permissions": {"deny": names}}))
    denied = [{"serverName": f"s{number}"} for number in range(30_000)]
    write(repository / ".claude/settings.local.json", json.dumps({"deniedMcpServers": denied}))
    servers = {f"t{number}": {"command": "x"} for number in range(900)}
    write(repository / ".mcp.json", json.dumps({"mcpServers": servers}))


def a_pipe_for_git(repository: Path) -> None:
    (repository / ".git").rmdir()
    os.mkfifo(repository / ".git")


def repeated_yaml(repository: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    text = "\n".join(("---", "name: x", *lines, "description: *a8", "disable-model-invocation: *a8", "---\n"))
    for path in ("skills/bomb/SKILL.md", "agents/bomb.md", "commands/bomb.md"):
        write(repository / ".claude" / path, text)


def folders_with_links_to_themselves(repository: Path) -> None:
    for number in range(20_000):
        folder = repository / f".claude/commands/{number % 100}/{number}"
        folder.mkdir(parents=True)
        (folder / "l").symlink_to(".")


def folders_far_down(repository: Path) -> None:
    deep = os.path.join(repository, *("d" for _ in range(400)))
    for number in range(4_000):
        os.makedirs(os.path.join(deep, str(number)))
    (repository / ".claude").mkdir()
    (repository / ".claude/commands").symlink_to(deep)


def many_files(repository: Path) -> None:
    for number in range(20_000):
        path = repository / f".claude/commands/{number % 50}/c{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def long_values(repository: Path) -> None:
    env = {"A_TOKEN": "eyJ" * 60_000, "B": "a=" * 90_000, "C": "sk-" * 60_000, "D": "://" * 60_000}
    entry = {"command": "x", "args": ["a" * 200_000], "env": env}
    write(repository / ".mcp.json", json.dumps({"mcpServers": {"x": entry}}))


def many_values(repository: Path) -> None:
    write(repository / ".mcp.json", '{"mcpServers": {}, "x": [' + "[]," * 5_000_000 + "[]]}")
    write(repository / ".claude/settings.json", "[" * 900_000)


BUILDS: tuple[Build, ...] = (
    a_key_of_many_parts,
    many_keys_of_many_parts,
    references_without_an_end,
    many_servers,
    skills_with_much_front_matter,
    many_patterns_and_commands,
    many_conditions_and_commands,
    comments_and_commas,
    many_permission_rules,
    a_pipe_for_git,
    repeated_yaml,
    folders_with_links_to_themselves,
    folders_far_down,
    many_files,
    long_values,
    many_values,
)
