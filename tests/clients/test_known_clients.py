"""The known clients, and which are on a machine: those whose program or own settings are there."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from remit.clients.known_clients import is_on_machine, load
from remit.clients.parsing.client_reader import ClientReader
from remit.decision.permissions.client_facts import CLIENTS
from remit.decision.projects import View
from remit.files.bounded_reader import Machine
from remit.files.checkout import locate


def machine(home: Path, **variables: str) -> Machine:
    return Machine(
        home=str(home), variables={"PATH": "/nowhere", **variables}, platform="linux", root=str(home)
    )


@pytest.mark.parametrize("client", CLIENTS)
def test_on_an_empty_machine_there_is_no_client(client: str, tmp_path: Path) -> None:
    assert not is_on_machine(client, machine(tmp_path))


@pytest.mark.parametrize(
    ("client", "path"),
    [
        ("claude-code", ".claude.json"),
        ("cursor", ".cursor"),
        ("vscode", ".config/Code"),
        ("claude-desktop", ".config/Claude"),
        ("zed", ".config/zed"),
        ("cline", ".config/Code/User/globalStorage/saoudrizwan.claude-dev"),
    ],
)
def test_its_own_settings_show_that_a_client_is_there(client: str, path: str, tmp_path: Path) -> None:
    (tmp_path / path).mkdir(parents=True)
    assert is_on_machine(client, machine(tmp_path))


def test_a_variable_may_name_its_directory(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    assert is_on_machine("codex", machine(tmp_path, CODEX_HOME=str(tmp_path / "elsewhere")))
    assert not is_on_machine("codex", machine(tmp_path, CODEX_HOME=str(tmp_path / "gone")))


def test_its_program_on_the_path_shows_it_too_but_not_one_of_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin/gemini"
    program.parent.mkdir()
    program.write_text("")
    program.chmod(0o755)
    assert is_on_machine("gemini-cli", machine(tmp_path, PATH=str(program.parent)))
    monkeypatch.chdir(program.parent)
    assert not is_on_machine("gemini-cli", machine(tmp_path, PATH="."))


def test_a_client_without_known_traces_counts_as_there(tmp_path: Path) -> None:
    assert is_on_machine("new-client", machine(tmp_path))


class NoVariables(Mapping[str, str]):
    """An empty environment that notes what is asked of it."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def __getitem__(self, key: str) -> str:
        self.asked.add(key)
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_has_a_module_and_lists_the_variables_that_it_asks_for(
    client: str, platform: str, tmp_path: Path
) -> None:
    variables = NoVariables()
    there = Machine(home=str(tmp_path), variables=variables, platform=platform, root=str(tmp_path))
    load(client).read(ClientReader(View(client, locate(str(tmp_path))), there, now_ns=0))
    assert load(client).name == client
    assert variables.asked <= {*CLIENTS[client].locating}
