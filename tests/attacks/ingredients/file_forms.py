"""Forms that replace files: links, pipes, sockets, sizes, depths. They come last, over what others wrote."""

from attacks.ingredients.names import file_trick
from attacks.ingredients.repository import HostileRepository

FILES = (
    *(".mcp.json", ".claude/settings.json", ".claude/settings.local.json", "remit.toml", "remit.local.toml"),
    *(".cursor/mcp.json", ".vscode/mcp.json", ".codex/config.toml", ".gemini/settings.json", "opencode.json"),
    *(
        ".opencode/opencode.json",
        ".zed/settings.json",
        ".roo/mcp.json",
        ".kiro/settings/mcp.json",
        ".github/mcp.json",
    ),
    *(".continue/mcpServers/x.yaml", ".claude/commands/leak.md", ".claude/skills/leak/SKILL.md"),
    *(".claude/agents/leak.md", ".claude/skills/leak/.claude-plugin/plugin.json", "CLAUDE.md", "AGENTS.md"),
)
FOLDERS = (
    *(".claude", ".claude/commands", ".claude/skills", ".claude/agents", ".claude/skills/linked", ".cursor"),
    *(".vscode", ".codex", ".gemini", ".opencode", ".continue/mcpServers", ".claude/commands/linked"),
)


def has_files_that_lead_away(repository: HostileRepository) -> None:
    """Files that are links to the user's secrets and to endless devices."""
    endless = (
        "/dev/zero",
        "/dev/urandom",
        "/proc/self/environ",
        "/proc/self/mem",
        "/proc/kmsg",
        "/dev/stdin",
        "/dev/tty",
    )
    for path in repository.chance.sample(FILES, k=6):
        repository.link(path, repository.chance.choice([repository.secret(), *endless]))


def has_files_that_lead_nowhere(repository: HostileRepository) -> None:
    """Files that are links to nothing, and in a circle."""
    for path in repository.chance.sample(FILES, k=6):
        name = path.rsplit("/", 1)[-1]
        repository.link(
            path, repository.chance.choice(["nowhere", name, f"./././{name}", "x" * 255, "/nonexistent/x"])
        )


def has_folders_that_lead_away(repository: HostileRepository) -> None:
    """Folders that are links to the user's home, or to everything."""
    targets = (
        repository.home,
        repository.home / "Documents",
        repository.home / ".ssh",
        "/",
        "/proc",
        "/proc/self/fd",
        "/dev",
    )
    for path in repository.chance.sample(FOLDERS, k=2):
        repository.link(path, repository.chance.choice(targets))


def has_folders_in_circles(repository: HostileRepository) -> None:
    """Folders that contain themselves."""
    for path in repository.chance.sample(FOLDERS, k=4):
        repository.link(f"{path}/again", repository.chance.choice([".", "..", "../..", "again"]))


def has_pipes_and_sockets(repository: HostileRepository) -> None:
    """Files that block whoever opens them."""
    for path in repository.chance.sample((*FILES, *FOLDERS), k=5):
        repository.chance.choice([repository.pipe, repository.socket])(path)


def has_folders_for_files(repository: HostileRepository) -> None:
    """Folders where files belong, and files where folders belong."""
    for path in repository.chance.sample(FILES, k=4):
        repository.place(path, lambda place: place.mkdir())
    repository.write(repository.chance.choice(FOLDERS), "a file\n")


def has_files_that_nobody_may_read(repository: HostileRepository) -> None:
    """Files without any permission."""
    for path in repository.chance.sample(FILES, k=4):
        repository.write(path, "{}", mode=0)


def has_large_files(repository: HostileRepository) -> None:
    """Files that are larger than any that people write, mostly holes."""
    for path in repository.chance.sample(FILES, k=2):
        size = repository.chance.choice([2_000_000, 17_000_000, 1 << 40])
        repository.place(path, lambda place, size=size: _hole(str(place), size))


def has_deep_files(repository: HostileRepository) -> None:
    """Files that nest deeper than a parser can go, or repeat without end."""
    texts = (
        "[" * 100_000,
        '{"a":' * 50_000,
        '{"mcpServers":' * 2_000 + "{}" + "}" * 2_000,
        '{"mcpServers": {"a": ' + "9" * 50_000 + "}}",
        "/*" * 60_000,
        "{" + ",}" * 60_000,
        "{" + '"a":1,' * 60_000 + '"a":1}',
        '"' + "\\u0000" * 40_000 + '"',
        "a: " * 5_000,
        "\ufeff" * 1_000 + "{}",
        "{'a': 1e999999, \"b\": NaN, 'c': -Infinity}",
        "---\n" * 20_000,
        "&a [*a]\n",
        "\x00" * 4_096,
    )
    for path in repository.chance.sample(FILES, k=4):
        repository.write(path, repository.chance.choice(texts))


def has_other_encodings(repository: HostileRepository) -> None:
    """Files in encodings that nobody expects."""
    for path in repository.chance.sample(FILES, k=3):
        encoding = repository.chance.choice(["utf-16", "utf-32-le", "utf-7", "cp037", "utf-8-sig"])
        repository.write(path, '{"mcpServers": {"a": {"command": "sh"}}}'.encode(encoding))
    repository.write(repository.chance.choice(FILES), repository.chance.randbytes(5_000))


def is_started_far_down(repository: HostileRepository) -> None:
    """A client that is started in a folder whose name deceives, with files of its own."""
    name = file_trick(repository.chance)
    if not name.strip() or any("\udc80" <= letter <= "\udcff" for letter in name):
        name = "..down"
    repository.write(f"deep/{name}/.mcp.json", {"mcpServers": {"notes": repository.starter("down")}})
    repository.write(f"deep/{name}/remit.toml", "allow = ['*']\n")
    if (place := repository.root / "deep" / name).is_dir():
        repository.workspace = place


def has_a_crowded_root(repository: HostileRepository) -> None:
    """A root with more entries than anybody lists."""
    repository.place("crowd", lambda place: place.mkdir())
    for number in range(1_500):
        (repository.root / "crowd" / str(number)).touch()


def _hole(path: str, size: int) -> None:
    with open(path, "wb") as opened:
        opened.truncate(size)


FORMS = (
    has_files_that_lead_away,
    has_files_that_lead_nowhere,
    has_folders_that_lead_away,
    has_folders_in_circles,
    has_pipes_and_sockets,
    has_folders_for_files,
    has_files_that_nobody_may_read,
    has_large_files,
    has_deep_files,
    has_other_encodings,
    is_started_far_down,
    has_a_crowded_root,
)
