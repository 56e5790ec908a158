from collections.abc import Generator
from pathlib import Path

import pytest

from remit.trust.server_sandbox import Sandbox, SandboxError
from remit.upstream.launch import bubblewrap
from remit.upstream.launch.bubblewrap import (
    SandboxBuilder,
    bubblewrap_program,
    options_text,
    sandbox_obstacle,
)


@pytest.fixture
def bwrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """A `bwrap` that does nothing, and says what the test writes into it."""
    made = tmp_path / "bwrap"
    made.write_text("#!/bin/sh\nexit 0\n")
    made.chmod(0o755)
    monkeypatch.setattr(bubblewrap, "PROGRAMS", (str(made),))
    bubblewrap_program.cache_clear()
    yield made
    bubblewrap_program.cache_clear()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "home" / "shop"
    made.mkdir(parents=True)
    return made


def build(shop: Path, read: tuple[str, ...] = (), write: tuple[str, ...] = ()) -> SandboxBuilder:
    return SandboxBuilder(Sandbox(str(shop), False, read, write), str(shop.parent), ())


def test_without_bubblewrap_there_is_a_reason_and_a_hint(bwrap: Path, shop: Path) -> None:
    bwrap.unlink()
    with pytest.raises(SandboxError, match="bubblewrap is not installed") as raised:
        build(shop).command(("sh",), str(shop), {}, {})
    assert "apt install bubblewrap" in (raised.value.hint or "")
    obstacle = sandbox_obstacle(Sandbox(str(shop)), "/")
    assert obstacle is not None
    assert obstacle.reason == "bubblewrap is not installed"
    assert "apt install bubblewrap" in (obstacle.hint or "")


def test_a_machine_that_allows_no_sandbox_says_why(bwrap: Path, shop: Path) -> None:
    bwrap.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    with pytest.raises(
        SandboxError, match="does not work here: bwrap: setting up uid map: Permission denied"
    ):
        build(shop).check()
    bubblewrap_program.cache_clear()
    bwrap.write_text("no script")
    with pytest.raises(SandboxError, match="does not work here: OSError"):
        build(shop).check()


def test_other_systems_have_no_sandbox(bwrap: Path, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bwrap.exists()
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(SandboxError, match="Linux only"):
        build(shop).check()


def test_what_cannot_run_in_a_sandbox_is_refused_with_the_reason(bwrap: Path, shop: Path) -> None:
    assert bwrap.exists()
    with pytest.raises(SandboxError, match="its command was not found"):
        build(shop).command(("absent",), str(shop), {}, {})
    with pytest.raises(SandboxError, match="`files` is not installed") as raised:
        build(shop).command(("npx", "-y", "files@1.0.0"), str(shop), {}, {})
    assert raised.value.hint == "run `npx -y files@1.0.0` once without the sandbox, which installs it"
    with pytest.raises(SandboxError, match="`pipx run` installs packages") as raised:
        build(shop).command(("pipx", "run", "mcp-time==1.0"), str(shop), {}, {})
    assert raised.value.hint == "use `uvx mcp-time==1.0`, which works with uv's cache"
    for words in (("docker", "run", "-i", "x/y"), ("sh", "-c", "podman run x"), ("/bin/docker", "run", "x")):
        with pytest.raises(SandboxError, match="a container runs outside the sandbox"):
            build(shop).command(words, str(shop), {}, {})
    with pytest.raises(SandboxError, match="`/nowhere/else` does not exist"):
        build(shop, write=("/nowhere/else",)).command(("sh",), str(shop), {"PATH": "/bin"}, {})
    (shop / "link").symlink_to("/etc")
    with pytest.raises(SandboxError, match="`link/ssl` is or contains a link"):
        build(shop, read=(f"{shop}/link/ssl",)).command(("sh",), str(shop), {"PATH": "/bin"}, {})


def test_what_is_writable_shows_everything_in_it(bwrap: Path, shop: Path) -> None:
    assert bwrap.exists()
    made = build(shop, read=(f"{shop}/docs", "/srv"), write=(str(shop),)).command(
        ("sh",), str(shop), {"PATH": "/bin", "A": "b", "TMPDIR": "/x"}, {}
    )
    assert f"{shop}/docs" not in made.options
    assert made.options[made.options.index("--bind") :][:3] == ("--bind", str(shop), str(shop))
    assert made.words == ("sh",)
    assert b"--clearenv\0--setenv\0PATH\0/bin\0--setenv\0A\0b\0" in options_text(made)


def test_uv_works_offline_with_the_python_it_finds(bwrap: Path, shop: Path) -> None:
    for name in ("uvx", "python3"):
        program = shop.parent / "tools" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text("")
        program.chmod(0o755)
    assert bwrap.exists()
    made = build(shop).command(("uvx", "time"), str(shop), {"PATH": f"{shop.parent}/tools"}, {})
    assert made.variables["UV_OFFLINE"] == "1"
    assert f"{shop.parent}/tools/python3" in made.options


def test_an_old_bubblewrap_is_used_without_the_options_that_it_does_not_know(bwrap: Path, shop: Path) -> None:
    assert build(shop).check().namespaces == ("--unshare-all", "--unshare-user", "--disable-userns")
    bubblewrap_program.cache_clear()
    bwrap.write_text(
        "#!/bin/sh\ntr '\\0' '\\n' < /proc/self/fd/$2 | grep -q disable-userns && exit 1\nexit 0\n"
    )
    assert build(shop).check().namespaces == ("--unshare-all",)


def test_a_directory_that_may_hold_secrets_cannot_be_made_writable(bwrap: Path, shop: Path) -> None:
    assert bwrap.exists()
    home = shop.parent
    for name in (".config", ".local/share", ".cargo"):
        with pytest.raises(
            SandboxError, match=rf"`write` contains `{home}/{name}/.*`, which may hold secrets"
        ):
            build(shop, write=(f"{home}/{name}",)).check()
    build(shop, write=(f"{home}/.config/tool", f"{home}/.ssh")).check()  # the user names it


def test_a_link_from_a_secret_place_makes_its_target_secret(bwrap: Path, shop: Path) -> None:
    assert bwrap.exists()
    (shop.parent / ".netrc").symlink_to(shop / "netrc")
    with pytest.raises(SandboxError, match=f"`write` contains `{shop}/netrc`, which may hold secrets"):
        build(shop, write=(str(shop),)).check()


def test_a_link_to_a_secret_place_does_not_name_it(bwrap: Path, shop: Path) -> None:
    assert bwrap.exists()
    (shop.parent / ".ssh").mkdir()
    (shop.parent / "data").symlink_to(".ssh")
    with pytest.raises(SandboxError, match="data` leads to a place that may hold secrets") as raised:
        build(shop, read=(f"{shop.parent}/data",)).check()
    assert raised.value.hint == "name the directory that it points to"


def test_a_parent_of_the_home_directory_shows_an_empty_home(bwrap: Path, shop: Path) -> None:
    assert bwrap.exists()
    home = shop.parent
    (home.parent / "other").mkdir()
    made = build(shop, read=(str(home.parent),)).command(("sh",), str(shop), {"PATH": "/bin"}, {})
    assert f"{home.parent}/other" in made.options
    assert made.options[made.options.index(str(home)) - 1] == "--tmpfs"


def test_a_file_may_be_made_writable_by_name(bwrap: Path, shop: Path) -> None:
    assert bwrap.exists()
    (shop / "AGENTS.md").write_text("")
    made = build(shop, write=(str(shop), f"{shop}/AGENTS.md")).command(
        ("sh",), str(shop), {"PATH": "/bin"}, {}
    )
    at = made.options.index(f"{shop}/AGENTS.md")
    assert made.options[at - 1] == "--bind"
