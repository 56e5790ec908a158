"""What a node reads for a team's project: the servers in the store, and no file."""

import os
from collections.abc import Mapping

import pytest

from remit.decision.client_settings import ClientSettings
from remit.decision.declared_launch import Transport
from remit.decision.kinds import ConfigStatus
from remit.decision.projects import Project, View, Workspace, team_workspace
from remit.decision.resolve import resolve
from remit.decision.scopes import Scope
from remit.errors import UnknownProjectError
from remit.files.bounded_reader import Machine
from remit.scanning.client_files import ClientFiles
from remit.scanning.project_records import ProjectRecords
from remit.scanning.team_servers import read_team
from remit.trust.trust_rule import declaration_needs_trust
from support.sandbox import Sandbox

PAYMENTS = Project("team:payments", "a" * 16)
API = team_workspace(Project("team:payments/api", "b" * 16), PAYMENTS)
TILL = '{"command": "till", "args": ["${PORT:-1}"]}'


class Teams:
    """The teams of a store, by hand."""

    def __init__(self, entries: Mapping[str, str]) -> None:
        self.entries = entries

    def locate(self, name: str) -> Workspace:
        if name not in (API.project.path, "api"):
            raise UnknownProjectError(name)
        return API

    def servers(self, workspace: Workspace) -> Mapping[str, str]:
        assert workspace == API
        return self.entries


@pytest.fixture
def teams() -> Teams:
    return Teams({"till": TILL})


@pytest.fixture
def files(sandbox: Sandbox, teams: Teams) -> ClientFiles:
    machine = Machine(home=str(sandbox.home), variables={}, root=str(sandbox.root / "machine"))
    return ClientFiles(machine, teams=teams)


def test_a_teams_project_is_found_by_its_path_and_is_not_a_directory(
    files: ClientFiles, sandbox: Sandbox
) -> None:
    assert files.locate("team:payments/api") == API
    assert files.canonical("team:payments/api") == "team:payments/api"
    assert files.locate(str(sandbox.root)).team is None
    with pytest.raises(UnknownProjectError):
        files.locate("team:payments/web")


def test_the_servers_of_a_team_are_enabled_for_any_client_and_need_no_trust(files: ClientFiles) -> None:
    for client in ("claude-code", "cursor"):
        reading = files.read(View(client, API))
        settings = ClientSettings(reading.rules, is_headless=False, behavior=reading.behavior)
        (till,) = resolve(reading.declarations, settings)
        assert till.config_status is ConfigStatus.ENABLED
        declared = till.declaration
        assert (declared.name, declared.client, declared.scope) == ("mcp__till__*", client, Scope.TEAM)
        assert (declared.source, declared.project_hash) == ("team:payments", PAYMENTS.hash)
        assert not declaration_needs_trust(declared, API)
        facts = files.examine([declared], API)
        assert facts.absent[declared.key] == ("command",)


def test_a_changed_server_is_noticed_and_so_is_a_removed_project(files: ClientFiles, teams: Teams) -> None:
    inputs = files.read(View("claude-code", API)).inputs
    assert files.is_unchanged(inputs)
    teams.entries = {**teams.entries, "wiki": '{"url": "https://wiki.example/mcp"}'}
    assert not files.is_unchanged(inputs)
    assert not files.is_unchanged({"team:payments/web": "x"})
    assert files.stamps(inputs).are_same()


def test_an_entry_that_cannot_be_read_is_a_problem_of_this_server_alone() -> None:
    entries = {"broken": '{"command": 1}', "wiki": '{"type": "http", "url": "https://wiki.example/mcp"}'}
    reading = read_team(View("claude-code", API), entries)
    (problem,) = reading.problems
    assert (problem.source, problem.place) == ("team:payments", "server `broken`")
    (wiki,) = reading.declarations
    assert wiki.launch is not None
    assert wiki.launch.transport is Transport.HTTP


def test_without_a_shared_store_such_a_path_is_a_directory(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = sandbox.root / "team:payments/api"
    folder.mkdir(parents=True)
    monkeypatch.chdir(sandbox.root)
    files = sandbox.client_files()
    assert files.locate("team:payments/api").dir == os.path.realpath(folder)


def test_the_name_of_a_teams_project_comes_before_a_directory(
    sandbox: Sandbox, files: ClientFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    (sandbox.root / "api").mkdir()
    monkeypatch.chdir(sandbox.root)
    with sandbox.registry() as registry:
        records = ProjectRecords(registry._store, files)  # pyright: ignore[reportPrivateUsage]
        assert records.named("api") == API.project
        assert records.named("./api").path == str(sandbox.root / "api")
