import os
import socket
from pathlib import Path

import pytest

from remit.trust.server_sandbox import SandboxError
from remit.upstream.launch import private_places
from remit.upstream.launch.private_places import (
    entries_without,
    is_shown,
    secret_places,
    secret_within,
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "home"
    for name in (".ssh/id", ".config/gh/hosts.yml", ".config/nvim/init.lua", "code/shop/a", "notes.txt"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text("x")
    return made


def shown(home: Path, path: Path, *already: str) -> dict[str, str | None]:
    secrets = secret_places(str(home), ())
    found = entries_without(str(path), secrets, already, str(home))
    return {os.path.relpath(each.path, home): each.source for each in found}


def test_a_home_shows_no_hidden_entries(home: Path) -> None:
    for name in (".databrickscfg", ".librewolf/x", "snap/firefox/common/x", "code/.env"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("x")
    assert shown(home, home) == {
        ".": None,
        "code": str(home / "code"),
        "notes.txt": str(home / "notes.txt"),
    }


def test_a_hidden_entry_that_is_named_is_shown_without_the_secrets_in_it(home: Path) -> None:
    assert shown(home, home / ".config") == {".config": None, ".config/nvim": str(home / ".config/nvim")}


def test_a_home_behind_a_link_shows_no_hidden_entries_either(home: Path) -> None:
    (home / ".databrickscfg").write_text("x")
    (home.parent / "link").symlink_to(home)
    found = entries_without(str(home.parent), [f"{home}/.ssh"], (), str(home.parent / "link"))
    assert {os.path.relpath(each.path, home.parent) for each in found} == {
        *(".", "link", "home", "home/code", "home/notes.txt")
    }


@pytest.mark.parametrize(
    ("path", "granted", "is_granted"),
    [
        ("~/code/x", "~", True),
        ("~/.cache/uv/x", "~", False),
        ("~/snap/x", "/", False),
        ("~/.cache/uv/x", "~/.cache", True),
        ("~/.cache/uv/x", "~/.cache/uv/x", True),
        ("~/.cache/uv/x", "~/.config", False),
        ("/opt/.x/y", "/opt", True),
    ],
)
def test_a_path_in_a_hidden_entry_is_shown_only_if_the_entry_is_named(
    home: Path, path: str, granted: str, is_granted: bool
) -> None:
    here, by = (each.replace("~", str(home)) for each in (path, granted))
    assert is_shown(here, [by], str(home)) is is_granted


def test_a_directory_is_split_where_a_secret_could_be_made_later(home: Path) -> None:
    (home / ".cargo/bin").mkdir(parents=True)
    assert (
        secret_within(str(home / ".cargo"), secret_places(str(home), ())) == f"{home}/.cargo/credentials.toml"
    )
    assert shown(home, home / ".cargo") == {".cargo": None, ".cargo/bin": str(home / ".cargo/bin")}
    assert secret_within(str(home / "code"), secret_places(str(home), ())) is None


def test_links_stay_links_and_the_target_of_a_secret_one_is_hidden_too(home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / "dotfiles/netrc").write_text("x")
    (home / "dotfiles/vimrc").write_text("x")
    (home / ".netrc").symlink_to("dotfiles/netrc")
    (home / "vimrc").symlink_to("dotfiles/vimrc")
    found = shown(home, home)
    assert found["vimrc"] == "dotfiles/vimrc"
    assert found["dotfiles/vimrc"] == str(home / "dotfiles/vimrc")
    assert found.keys().isdisjoint({".netrc", "dotfiles/netrc"})


def test_a_directory_granted_through_a_link_hides_the_same(home: Path) -> None:
    (home.parent / "link").symlink_to(home)
    assert "../link/notes.txt" in shown(home, home.parent / "link")
    assert "../link/.ssh" not in shown(home, home.parent / "link")


def test_sockets_and_what_is_shown_already_are_left_out(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("agent")
        assert shown(home, home, f"{home}/code").keys().isdisjoint({"agent", "code"})


def test_a_directory_with_too_many_entries_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_places, "_MOST_SHOWN", 2)
    with pytest.raises(SandboxError, match="home` may contain secrets, and too much else") as raised:
        shown(home, home)
    assert raised.value.hint == "name the directories that it needs to read"
    monkeypatch.setattr(private_places, "_MOST_LISTED", 2)
    with pytest.raises(SandboxError, match="too much else"):
        shown(home, home)


def test_an_entry_that_cannot_be_looked_at_is_left_out(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> int:
        return 0

    monkeypatch.setattr(private_places, "_mode", refuse)
    assert shown(home, home) == {".": None}
