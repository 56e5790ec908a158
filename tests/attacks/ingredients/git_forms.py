"""Forms of `.git`: a folder, a file, a pipe, a link, and folders that are not what they seem."""

from attacks.ingredients.names import trick
from attacks.ingredients.repository import HostileRepository


def is_a_plain_folder(repository: HostileRepository) -> None:
    """A checkout whose branch has a name that deceives."""
    name = trick(repository.chance).encode("utf-8", "replace").decode()
    repository.write(".git/HEAD", f"ref: refs/heads/{name}\n")
    repository.write(
        ".git/config", f'[core]\nhooksPath = .\nsshCommand = "{repository.shell("git-config")}"\n'
    )


def is_a_pipe(repository: HostileRepository) -> None:
    """A pipe in place of the folder."""
    repository.pipe(".git")


def is_a_socket(repository: HostileRepository) -> None:
    """A socket in place of the folder."""
    repository.socket(".git")


def is_a_link(repository: HostileRepository) -> None:
    """A link that leads nowhere, in a circle, or out of the repository."""
    targets = (".git", "nowhere", "/dev/zero", "/proc/self", repository.home, repository.secret(), "/")
    repository.link(".git", repository.chance.choice(targets))


def points_elsewhere(repository: HostileRepository) -> None:
    """A file that says where the folder is."""
    targets = (
        *(
            "../../home",
            "/dev/zero",
            ".",
            ".git",
            "/proc/self/fd/0",
            "x" * 100_000,
            "a\x00b",
            "\x1b[2J",
            "../" * 900,
        ),
        *(repository.secret(), repository.home / ".claude"),
    )
    repository.write(".git", f"gitdir: {repository.chance.choice(targets)}\n")


def is_a_worktree(repository: HostileRepository) -> None:
    """A linked worktree whose main checkout is the user's home."""
    common = repository.chance.choice([repository.home, "../../../home", "/", "x" * 5_000, "."])
    repository.write("meta/commondir", f"{common}\n")
    repository.write("meta/gitdir", f"{repository.root / '.git'}\n")
    repository.write("meta/HEAD", "ref: refs/heads/main\n")
    repository.write(".git", f"gitdir: {repository.root / 'meta'}\n")


def is_a_submodule(repository: HostileRepository) -> None:
    """A checkout inside another, from which the client is started."""
    repository.write("inner/.git", "gitdir: ../.git/modules/inner\n")
    repository.write(".git/modules/inner/HEAD", "ref: refs/heads/main\n")
    repository.write("inner/.mcp.json", {"mcpServers": {"inner": repository.starter("inner")}})
    repository.workspace = repository.root / "inner"


def has_parts_that_block(repository: HostileRepository) -> None:
    """A folder in which every file is a pipe."""
    repository.remove(".git")
    for name in ("HEAD", "config", "index", "commondir", "MERGE_HEAD", "packed-refs", "rebase-merge"):
        repository.pipe(f".git/{name}")


def has_parts_that_lead_away(repository: HostileRepository) -> None:
    """A folder in which every file is a link to a secret, so that its text is taken for a branch."""
    for name in ("HEAD", "config", "index", "commondir", "MERGE_HEAD"):
        repository.link(f".git/{name}", repository.chance.choice([repository.secret(), "/dev/zero", "HEAD"]))


def has_a_large_index(repository: HostileRepository) -> None:
    """An index that claims more files than it has."""
    head = b"DIRC" + (2).to_bytes(4, "big") + (0xFFFFFFFF).to_bytes(4, "big")
    repository.write(
        ".git/index", head + repository.chance.choice([b"", b"\xff" * 2_000_000, bytes(3_000_000)])
    )
    repository.write(".git/HEAD", "x" * 2_000_000)


def is_missing(repository: HostileRepository) -> None:
    """A folder that is no repository."""
    repository.remove(".git")


FORMS = (
    is_a_plain_folder,
    is_a_pipe,
    is_a_socket,
    is_a_link,
    points_elsewhere,
    is_a_worktree,
    is_a_submodule,
    has_parts_that_block,
    has_parts_that_lead_away,
    has_a_large_index,
    is_missing,
)
