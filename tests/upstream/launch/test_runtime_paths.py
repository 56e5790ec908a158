import os
from pathlib import Path

import pytest

from remit.clients.known_clients import trace_places
from remit.decision.permissions.client_facts import CLIENTS
from remit.files.bounded_reader import Machine
from remit.trust.server_sandbox import SandboxError
from remit.upstream.launch.private_places import is_secret, secret_places
from remit.upstream.launch.runtime_paths import RuntimeContext, RuntimePaths, package_caches


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "home"
    (made / "shop").mkdir(parents=True)
    return made


def program(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def needed(home: Path, *words: str, search_path: str = "/usr/bin:/bin") -> list[str] | None:
    root = str(home / "shop")
    secrets = secret_places(str(home), ())
    around = RuntimeContext(root, str(home), root, (), (), secrets, search_path, search_path, False)
    paths = RuntimePaths(around)
    if paths.add_command(words) is None:
        return None
    return sorted(os.path.relpath(path, home) for path in paths.found)


@pytest.mark.parametrize("client", CLIENTS)
def test_the_files_of_every_client_are_private(home: Path, client: str) -> None:
    machine = Machine(home=str(home), variables={}, platform="linux")
    secrets = secret_places(str(home), ())
    assert [place for place in trace_places(client, machine) if not is_secret(place, secrets)] == []


def test_a_program_of_the_system_needs_nothing_else(home: Path) -> None:
    assert needed(home, "sh", "-c", "true") == []
    assert needed(home, "/bin/sh") == []
    assert needed(home, "no-such-program") is None


def test_a_single_program_of_the_users_does_not_open_its_directory(home: Path) -> None:
    for place in ("bin", ".local/bin", ".cargo/bin", "tools"):
        (home / ".local/lib/python3.11").mkdir(parents=True, exist_ok=True)
        made = program(home / place / "serve")
        assert needed(home, str(made)) == [f"{place}/serve"]


@pytest.fixture
def python(home: Path) -> Path:
    """A Python that uv installed, and a link to it by a shorter version."""
    versions = home / ".local/share/uv/python"
    made = program(versions / "cpython-3.12.1/bin/python3.12")
    (versions / "cpython-3.12.1/lib/python3.12").mkdir(parents=True)
    (versions / "cpython-3.12").symlink_to("cpython-3.12.1")
    (made.parent / "python3").symlink_to("python3.12")
    return versions / "cpython-3.12/bin/python3"


@pytest.mark.parametrize("place", ["shop/.venv", "tools/.venv"])
def test_an_environment_comes_with_its_toolchain_and_the_users_also_with_the_places_it_names(
    home: Path, python: Path, place: str
) -> None:
    own = home / place
    (own / "lib/python3.12/site-packages").mkdir(parents=True)
    (own / "lib/python3.12/site-packages/x.pth").write_text(
        f"{home}/lib/src\nimport x\n{home}\n{home}/.ssh\n"
    )
    (home / "lib/src").mkdir(parents=True)
    (own / "pyvenv.cfg").write_text("")
    (own / "bin").mkdir()
    (own / "bin/python").symlink_to(python)
    program(own / "bin/serve", f"#!{own}/bin/python\n")
    base = ".local/share/uv/python/cpython-3.12"
    parts = [f"{base}.1/bin", f"{base}.1/lib", f"{base}/bin", f"{base}/lib", place]
    users = [base, f"{base}.1", "lib/src", place]
    assert needed(home, str(own / "bin/serve")) == (parts if place == "shop/.venv" else users)


def test_a_project_reaches_toolchains_only_where_version_managers_keep_them(home: Path, python: Path) -> None:
    own = home / "shop/.venv"
    (own / "bin").mkdir(parents=True)
    (own / "pyvenv.cfg").write_text("")
    (home / ".local/bin").mkdir()
    (home / ".local/bin/python3").symlink_to(python)
    (own / "bin/python").symlink_to(home / ".local/bin/python3")
    found = needed(home, ".venv/bin/python")
    assert found is not None
    assert found[0] == ".local/bin/python3"  # only a link
    for place in (".local/share/uv/python/cpython-3.12.1/lib/python3.12/x", "x/bin/python3", ".pyenv/bin/x"):
        (own / "bin/python").unlink()
        (own / "bin/python").symlink_to(program(home / place))
        with pytest.raises(SandboxError, match="which is neither the system's nor"):
            needed(home, ".venv/bin/python")


def test_the_users_tools_are_the_projects_where_they_lead_into_it(home: Path) -> None:
    program(home / "shop/.venv/bin/serve", f"#!{home}/other/tool\n")
    program(home / "other/tool")
    (home / "shop/.venv/pyvenv.cfg").write_text("")
    (home / "tools").symlink_to(home / "shop/.venv")
    with pytest.raises(SandboxError, match="other/tool"):
        needed(home, str(home / "tools/bin/serve"))


def test_a_version_manager_comes_whole_and_a_tool_behind_a_link_with_it(home: Path) -> None:
    (home / ".pyenv/shims").mkdir(parents=True)
    program(home / ".pyenv/shims/python3", "#!/usr/bin/env bash\n")
    assert needed(home, "python3", search_path=f"{home}/.pyenv/shims:/usr/bin:/bin") == [".pyenv"]
    tool = program(home / ".local/share/uv/tools/time/bin/serve").parent.parent
    (tool / "pyvenv.cfg").write_text("")
    (home / ".local/bin").mkdir(parents=True)
    (home / ".local/bin/serve").symlink_to("../share/uv/tools/time/bin/serve")
    found = needed(home, "serve", search_path=f"{home}/.local/bin")
    assert found == [".local/bin/serve", ".local/share/uv/tools/time"]


def test_a_script_comes_with_its_directory_and_its_packages(home: Path) -> None:
    program(home / "shop/tools/dist/server.js")
    (home / "shop/tools/package.json").write_text("{}")
    (home / "shop/tools/node_modules/left").mkdir(parents=True)
    node = f"{program(home / 'n/bin/node').parent}"
    found = needed(home, "node", "--no-warnings", "tools/dist/server.js", search_path=node)
    assert found == [
        *("n/bin/node", "shop/tools/dist", "shop/tools/dist/server.js"),
        *("shop/tools/node_modules", "shop/tools/package.json"),
    ]
    program(home / "shop/server.py")  # next to everything else
    assert needed(home, "node", "server.py", search_path=node) == ["n/bin/node", "shop/server.py"]
    assert needed(home, "node", "missing.js", search_path=node) == ["n/bin/node"]


def test_packages_come_with_all_they_may_import(home: Path) -> None:
    made = program(home / "apps/node_modules/serve/dist/index.js")
    (home / "apps/node_modules/.bin").mkdir()
    (home / "apps/node_modules/.bin/serve").symlink_to("../serve/dist/index.js")
    assert needed(home, str(home / "apps/node_modules/.bin/serve")) == ["apps/node_modules"]
    assert needed(home, str(made)) == ["apps/node_modules"]


def test_links_in_the_project_open_nothing_outside_of_it(home: Path) -> None:
    program(home / ".aws/credentials")
    program(home / "other/plan.js")
    (home / "shop/node_modules").symlink_to(home / ".aws")
    (home / "shop/lib").symlink_to(home / "other")
    node = f"{program(home / 'n/bin/node').parent}"
    for path, script in ((".aws/credentials", "node_modules/credentials"), ("other/plan.js", "lib/plan.js")):
        with pytest.raises(SandboxError, match=f"{path}`, which is neither the system's nor"):
            needed(home, "node", script, search_path=node)
    assert needed(home, "node", f"{home}/.aws/credentials", search_path=node) == ["n/bin/node"]


def test_package_runners_get_their_caches(home: Path) -> None:
    for name in ("archive-v0", "interpreter-v4", "wheels-v7", ".tmp"):
        (home / ".cache/uv" / name).mkdir(parents=True)
    for name in ("python/cpython", "tools/time", "tools/.lock"):
        (home / ".local/share/uv" / name).mkdir(parents=True)
    (home / ".local/lib/python3.11").mkdir(parents=True)
    root = str(home / "shop")
    browsers = [".cache/ms-playwright", ".cache/puppeteer"]

    def caches(*words: str, **variables: str) -> list[str]:
        return [os.path.relpath(path, home) for path in package_caches(words[0], root, variables, str(home))]

    tools = [".local/share/uv/python/cpython", ".local/share/uv/tools/time"]
    assert caches("uvx", "time") == [".cache/uv/archive-v0", ".cache/uv/wheels-v7", *tools, *browsers]
    assert caches("uv", UV_CACHE_DIR="/nowhere") == [*tools, *browsers]
    assert caches("python3.11") == [".local/lib/python3.11", *browsers]
