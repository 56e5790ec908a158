from dataclasses import replace

import pytest

from remit.configuration.config_model import (
    AccessLists,
    ConfigurationFile,
    ConfigurationLayer,
    SandboxOptions,
)
from remit.decision.projects import Workspace
from remit.decision.scopes import Scope
from remit.trust.server_sandbox import Sandbox, SandboxError, ServerSandboxes
from support.builders import SHOP, declared

ROOT = SHOP.checkout
GIT, MINE = declared("git", Scope.PROJECT), declared("git", Scope.GLOBAL)
MACHINE, PROJECT, LOCAL, MANAGED = (
    ConfigurationFile(layer, f"/files/{layer}.toml")
    for layer in (
        ConfigurationLayer.MACHINE,
        ConfigurationLayer.PROJECT,
        ConfigurationLayer.LOCAL,
        ConfigurationLayer.MANAGED,
    )
)
Said = tuple[ConfigurationFile, str, SandboxOptions | bool]


def sandboxes(*said: Said, trusted: str | None = None) -> ServerSandboxes:
    servers = [(file, AccessLists(name, sandbox=box or False)) for file, name, box in said if box is not True]
    kept = {} if trusted is None else {GIT.key: trusted}
    return ServerSandboxes(servers, kept, SHOP, "/home/ada")


def box(*, network: bool = False, read: tuple[str, ...] = (), write: tuple[str, ...] = ()) -> SandboxOptions:
    return SandboxOptions(network, read, write)


def test_a_server_without_a_sandbox_has_none() -> None:
    assert sandboxes().is_empty
    assert sandboxes().of(GIT) is None
    assert sandboxes((MACHINE, "web", box())).of(GIT) is None


def test_paths_are_relative_to_the_project_and_the_users_may_lead_out_of_it() -> None:
    said = box(read=(".", "~/data", "~"), write=("out/", "/srv/x", "../other"))
    found = sandboxes((MACHINE, "g*", said)).of(GIT)
    assert found == Sandbox(
        ROOT, False, (ROOT, "/home/ada/data", "/home/ada"), (f"{ROOT}/out", "/srv/x", "/code/other")
    )


def test_a_projects_paths_stay_inside_it() -> None:
    said = box(read=("docs", "..", "/etc", "~/x"), write=("a/../../b", "out"))
    assert sandboxes((PROJECT, "git", said)).of(GIT) == Sandbox(
        ROOT, False, (f"{ROOT}/docs",), (f"{ROOT}/out",)
    )


def test_only_the_users_own_file_makes_writable_what_runs_code_later() -> None:
    mine, theirs = box(write=(".",)), box(write=(".git", "web/.claude/skills", "out"))
    found = sandboxes((MACHINE, "git", mine), (PROJECT, "git", theirs)).of(GIT)
    assert found is not None
    assert found.write == (f"{ROOT}/out",)
    assert found.read == (f"{ROOT}/.git", f"{ROOT}/web/.claude/skills")
    named = sandboxes((MACHINE, "git", box(write=(".", ".git"))), (PROJECT, "git", theirs)).of(GIT)
    assert named is not None
    assert named.write == (f"{ROOT}/.git", f"{ROOT}/out")


def test_a_project_that_contains_the_home_directory_names_no_place_in_it() -> None:
    servers = [(PROJECT, AccessLists("git", sandbox=box(read=(".ssh",))))]
    workspace = Workspace("/home/ada", "/home/ada", SHOP.project)
    assert ServerSandboxes(servers, {}, workspace, "/home/ada").of(GIT) == Sandbox("/home/ada")


def test_the_reason_of_a_refusal_is_one_clean_line() -> None:
    error = SandboxError("the project makes it run `/a\n\x1b[2Jb`")
    assert error.reason == str(error) == "the project makes it run `/a [2Jb`"


def test_a_repository_cannot_widen_or_remove_what_the_user_set() -> None:
    own = (MACHINE, "git", box(read=("docs",)))
    wide = box(network=True, read=(".",), write=(".",))
    for file in (PROJECT, LOCAL):
        assert sandboxes(own, (file, "git", wide)).of(GIT) == Sandbox(ROOT, False, (f"{ROOT}/docs",))
        assert sandboxes(own, (file, "git", False)).of(GIT) == Sandbox(ROOT, False, (f"{ROOT}/docs",))


def test_every_file_narrows_the_others() -> None:
    said = (
        (MACHINE, "*", box(network=True, read=(".",), write=("out", "log"))),
        (PROJECT, "git", box(network=True, read=("docs", "log"), write=("out/a",))),
        (MANAGED, "git", box(read=("docs", "out"), write=("out",))),
    )
    assert sandboxes(*said).of(GIT) == Sandbox(ROOT, False, (f"{ROOT}/docs",), (f"{ROOT}/out/a",))


def test_the_last_matching_table_of_a_file_counts_and_may_lift_its_own_sandbox() -> None:
    everyone = (MACHINE, "*", box())
    assert sandboxes(everyone, (MACHINE, "git", box(network=True))).of(MINE) == Sandbox(ROOT, True)
    assert sandboxes(everyone, (MACHINE, "git", False)).of(MINE) is None
    assert sandboxes((MACHINE, "git", False), (PROJECT, "git", box())).of(MINE) == Sandbox(ROOT)


@pytest.mark.parametrize("file", [MACHINE, MANAGED])
def test_a_name_frees_no_server_of_a_project_from_a_sandbox(file: ConfigurationFile) -> None:
    everyone, wide = (file, "*", box(read=("docs",))), box(network=True, read=(".",))
    for exception in (False, wide):
        assert sandboxes(everyone, (file, "git", exception)).of(GIT) == Sandbox(
            ROOT, False, (f"{ROOT}/docs",)
        )
    assert sandboxes((file, "git", False)).of(GIT) is None


def test_a_table_that_names_the_project_makes_an_exception_for_its_server() -> None:
    said = [
        (MACHINE, AccessLists("*", sandbox=box())),
        (MACHINE, AccessLists("git", sandbox=box(network=True), projects=("/code/shop",))),
    ]
    assert ServerSandboxes(said, {}, SHOP, "/home/ada").of(GIT) == Sandbox(ROOT, True)
    last = [*said, (MACHINE, AccessLists("g*", sandbox=False, projects=("*",)))]
    assert ServerSandboxes(last, {}, SHOP, "/home/ada").of(GIT) is None
    theirs = [said[0], (PROJECT, AccessLists("git", sandbox=False, projects=("*",)))]
    assert ServerSandboxes(theirs, {}, SHOP, "/home/ada").of(GIT) == Sandbox(ROOT)


def test_a_plugins_server_is_found_by_its_full_label() -> None:
    plugin = replace(GIT, plugin="acme")
    assert sandboxes((MACHINE, "plugin:acme:git", box())).of(plugin) == Sandbox(ROOT)


def test_the_sandbox_that_was_trusted_stays_a_limit() -> None:
    before = sandboxes((PROJECT, "git", box(read=("docs",)))).of_project(GIT)
    assert before is not None
    removed = sandboxes(trusted=before.text)
    assert not removed.is_empty
    assert (removed.of(GIT), removed.of_project(GIT), removed.trusted(GIT)) == (before, None, before)
    wider = sandboxes((PROJECT, "git", box(network=True, read=(".",))), trusted=before.text)
    assert wider.of(GIT) == before
    assert sandboxes().trusted(GIT) is None


def test_unix_sockets_are_open_only_if_every_file_opens_them() -> None:
    opened, closed = SandboxOptions(unix_sockets=True), SandboxOptions()
    both = sandboxes((MACHINE, "git", opened), (PROJECT, "git", opened)).of(GIT)
    assert both == Sandbox(ROOT, unix_sockets=True)
    for mine, theirs in ((opened, closed), (closed, opened)):
        assert sandboxes((MACHINE, "git", mine), (PROJECT, "git", theirs)).of(GIT) == Sandbox(ROOT)


def test_a_sandbox_that_was_trusted_before_there_were_unix_sockets_has_none() -> None:
    opened = (PROJECT, "git", SandboxOptions(unix_sockets=True))
    assert sandboxes(opened, trusted="[false, [], []]").of(GIT) == Sandbox(ROOT)
    trusted = Sandbox(ROOT, unix_sockets=True)
    assert sandboxes(opened, trusted=trusted.text).of(GIT) == trusted
    assert Sandbox(ROOT).text == "[false, [], []]"


@pytest.mark.parametrize(
    ("sandbox", "text"),
    [
        (Sandbox(ROOT), "no network; no files"),
        (Sandbox(ROOT, True, (ROOT,)), "network; reads ."),
        (Sandbox(ROOT, unix_sockets=True), "no network; Unix sockets; no files"),
        (Sandbox(ROOT, False, ("/srv",), (f"{ROOT}/out",)), "no network; reads /srv; writes out"),
    ],
)
def test_a_sandbox_is_described_in_few_words(sandbox: Sandbox, text: str) -> None:
    assert str(sandbox) == text


def test_a_path_is_shown_relative_to_the_project_or_the_home() -> None:
    sandbox = Sandbox(ROOT)
    shown = [sandbox.short(path, "/home/ada") for path in (f"{ROOT}/a", "/home/ada/.pyenv", "/srv/x")]
    assert shown == ["a", "~/.pyenv", "/srv/x"]
