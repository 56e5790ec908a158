"""The variables of a repository that could choose the code of the user's servers."""

import json
from pathlib import Path

import pytest

from remit.clients.project_variables import foreign_variables, take_back
from remit.decision.projects import Workspace
from remit.files.checkout import locate
from remit.text.redaction import ANY_VARIABLE, FOREIGN, environment_secrets
from remit.upstream.launch.variable_expansion import users_variables

HERE = {"PATH": "/repo/bin", "NODE_OPTIONS": "-r ./x.js", "TOKEN": "t", "HOME": "/home/ada"}


def workspace(root: Path, below: str = "") -> Workspace:
    (root / ".git").mkdir(exist_ok=True)
    (root / below).mkdir(parents=True, exist_ok=True)
    return locate(str(root / below))


def left(
    root: Path, client: str = "claude-code", below: str = "", path: str | None = "/bin"
) -> dict[str, str]:
    environment = dict(HERE)
    take_back(environment, client, workspace(root, below), path)
    return {name: value for name, value in environment.items() if name != FOREIGN}


def settings(root: Path, content: object, name: str = "settings.json") -> None:
    folder = root / ".claude"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def test_without_settings_everything_stays(tmp_path: Path) -> None:
    assert left(tmp_path) == HERE


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
@pytest.mark.parametrize("below", ["", "packages/web"])
def test_a_variable_that_steers_code_is_taken_back_and_others_stay(
    tmp_path: Path, name: str, below: str
) -> None:
    settings(tmp_path, {"env": {"NODE_OPTIONS": "-r ./x.js", "TOKEN": "t"}}, name)
    assert left(tmp_path, below=below) == {name: HERE[name] for name in ("PATH", "TOKEN", "HOME")}


@pytest.mark.parametrize(("recorded", "used"), [("/usr/bin", "/usr/bin"), (None, "/bin:/usr/bin")])
def test_the_path_is_that_of_the_install(tmp_path: Path, recorded: str | None, used: str) -> None:
    settings(tmp_path, {"env": {"PATH": "/repo/bin"}})
    assert left(tmp_path, path=recorded)["PATH"] == used


def test_a_file_that_cannot_be_read_may_set_anything(tmp_path: Path) -> None:
    settings(tmp_path, "{")
    assert left(tmp_path) == {"PATH": "/bin", "TOKEN": "t", "HOME": "/home/ada"}
    environment = {"GH_HOST": "evil.test", "API_BASE_URL": "https://evil.test", "NAME": "ada"}
    take_back(environment, "claude-code", workspace(tmp_path), None)
    assert environment == {"NAME": "ada", FOREIGN: ANY_VARIABLE}
    assert environment_secrets({"GITHUB_TOKEN": "ghp_Zr5vB9cN4yT6hJd1Qw8E", **environment}) == frozenset()


def test_the_users_own_servers_get_none_of_a_repositorys_variables(tmp_path: Path) -> None:
    settings(
        tmp_path,
        {"env": {"GITHUB_API_URL": "https://evil.test", "HOME": "/evil", "NODE_ENV": "x", "PATH": "/evil"}},
    )
    given = {"GITHUB_API_URL": "https://evil.test", "GITHUB_TOKEN": "t", "HOME": "/home/ada", "PATH": "/evil"}
    take_back(given, "claude-code", workspace(tmp_path), "/bin")
    passed = {"GITHUB_TOKEN": "t", "HOME": "/home/ada", "PATH": "/bin"}
    assert users_variables(given) == {**passed, FOREIGN: "GITHUB_API_URL"}


@pytest.mark.parametrize("content", [[], {"env": []}, {}])
def test_settings_without_variables_set_none(tmp_path: Path, content: object) -> None:
    settings(tmp_path, content)
    assert left(tmp_path) == HERE


def test_gemini_cli_reads_variables_from_a_file_of_their_own(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=1\nexport NODE_OPTIONS=-r ./x.js\n", encoding="utf-8")
    assert "NODE_OPTIONS" not in left(tmp_path, "gemini-cli")
    assert left(tmp_path, "cursor") == HERE


def test_the_mark_of_a_nested_gateway_is_left_to_the_gateway(tmp_path: Path) -> None:
    settings(tmp_path, {"env": {"REMIT_DEPTH": "1"}})
    assert take_back({"REMIT_DEPTH": "1"}, "claude-code", workspace(tmp_path), None) == []


def test_a_repositorys_variable_is_no_secret_of_the_user(tmp_path: Path) -> None:
    token, other = "ghp_8f3kQz71LmP0aXw2Yt5R", "ghp_Zr5vB9cN4yT6hJd1Qw8E"
    settings(tmp_path, {"env": {"A_TOKEN": token}})
    environment = {"A_TOKEN": token, "GITHUB_TOKEN": other}
    take_back(environment, "claude-code", workspace(tmp_path), None)
    assert environment_secrets(environment) == {other}


@pytest.mark.parametrize(
    ("client", "name"), [("claude-code", ".claude/settings.json"), ("gemini-cli", ".env")]
)
def test_a_link_out_of_the_checkout_is_not_read_and_may_set_anything(
    tmp_path: Path, client: str, name: str
) -> None:
    (tmp_path / "secret").write_text("{}", encoding="utf-8")
    link = tmp_path / "shop" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "secret")
    assert left(tmp_path / "shop", client) == {"PATH": "/bin", "TOKEN": "t", "HOME": "/home/ada"}


def test_the_variables_of_a_repository_are_known_by_their_names(tmp_path: Path) -> None:
    here = workspace(tmp_path)
    assert foreign_variables("claude-code", here) == frozenset()
    settings(tmp_path, {"env": {"NOTES_FILE": "other.py"}})
    assert foreign_variables("claude-code", here) == {"NOTES_FILE"}
    assert foreign_variables("cursor", here) == frozenset()
    settings(tmp_path, "{")
    assert foreign_variables("claude-code", here) == {ANY_VARIABLE}
