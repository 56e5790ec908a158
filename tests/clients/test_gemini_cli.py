from pathlib import Path

import pytest

from remit.clients.gemini_cli import CLIENT
from remit.clients.parsing.client_reader import read_client
from remit.decision.client_reading import ClientReading
from remit.decision.client_settings import ClientSettings
from remit.decision.declarations import Declaration
from remit.decision.kinds import ConfigStatus
from remit.decision.launch import Transport
from remit.decision.resolve import resolve
from remit.decision.views import View
from remit.files.bounded_reader import Machine
from remit.files.checkout import locate
from support import Desk, servers


def read(desk: Desk, directory: Path, platform: str = "linux") -> ClientReading:
    machine = Machine(str(desk.home), desk.variables, platform, root=str(desk.root / "machine"))
    return read_client(CLIENT, View(CLIENT.name, locate(str(directory))), machine, now_ns=0)


def outcome(reading: ClientReading) -> dict[str, str]:
    resolved = resolve(reading.declarations, ClientSettings(reading.rules, behavior=reading.behavior))
    kept = [
        item for item in resolved if item.shadowed_by is None or item.config_status is ConfigStatus.PENDING
    ]
    return {key(item.declaration): item.config_status.value for item in kept}


def key(declaration: Declaration) -> str:
    return f"{declaration.scope} {declaration.server or declaration.name}"


def trust(desk: Desk, *directories: Path, level: str = "TRUST_FOLDER") -> None:
    desk.write(desk.home / ".gemini/trustedFolders.json", {str(path): level for path in directories})


def trusted_project(desk: Desk) -> Path:
    shop = desk.project("shop")
    trust(desk, shop)
    return shop


def user_file(desk: Desk) -> Path:
    return desk.home / ".gemini/settings.json"


def test_a_projects_entry_counts_whole_over_the_users(desk: Desk) -> None:
    shop = trusted_project(desk)
    desk.write(user_file(desk), servers(git={"command": "user", "args": ["--all"]}, wiki={"command": "user"}))
    desk.write(shop / ".gemini/settings.json", servers(git={"command": "project"}))
    reading = read(desk, shop)
    assert outcome(reading) == {"project git": "enabled", "global wiki": "enabled"}
    [winner] = [item for item in reading.declarations if item.scope == "project"]
    assert winner.launch is not None
    assert (winner.launch.command, winner.launch.args) == ("project", ())


def test_only_the_launch_directorys_settings_count(desk: Desk) -> None:
    shop = trusted_project(desk)
    (shop / "api").mkdir()
    desk.write(shop / ".gemini/settings.json", servers("git"))
    assert outcome(read(desk, shop / "api")) == {}


def test_the_home_has_no_settings_of_a_project(desk: Desk) -> None:
    trust(desk, desk.home)
    desk.write(user_file(desk), servers("git"))
    assert outcome(read(desk, desk.home)) == {"global git": "enabled"}


def test_in_a_folder_that_is_not_trusted_all_servers_wait(desk: Desk) -> None:
    shop = desk.project("shop")
    desk.write(user_file(desk), servers("git", "wiki"))
    desk.write(shop / ".gemini/settings.json", servers("git"))
    waiting = {"global git": "pending", "global wiki": "pending", "project git": "pending"}
    assert outcome(read(desk, shop)) == waiting


@pytest.mark.parametrize(
    ("answers", "status"),
    [
        ({"{root}": "TRUST_FOLDER"}, "enabled"),
        ({"{root}": "TRUST_FOLDER", "{shop}": "DO_NOT_TRUST"}, "pending"),
        ({"{root}": "DO_NOT_TRUST", "{shop}": "TRUST_FOLDER"}, "enabled"),
        ({"{shop}/below": "TRUST_PARENT"}, "enabled"),
        ({"{shop}/below": "TRUST_FOLDER"}, "pending"),
        ({"{shop}": "PERHAPS"}, "pending"),
        ({"{shop}": "TRUST_FOLDER", "{root}": ["TRUST_FOLDER"]}, "pending"),
    ],
)
def test_the_answer_for_the_longest_path_counts(desk: Desk, answers: dict[str, object], status: str) -> None:
    shop = desk.project("shop")
    content = {path.format(root=desk.root, shop=shop): level for path, level in answers.items()}
    desk.write(desk.home / ".gemini/trustedFolders.json", content)
    desk.write(user_file(desk), servers("git"))
    assert outcome(read(desk, shop)) == {"global git": status}


@pytest.mark.parametrize(
    ("variables", "status"),
    [
        ({"GEMINI_CLI_TRUST_WORKSPACE": "true"}, "enabled"),
        ({"GEMINI_CLI_TRUST_WORKSPACE": "1"}, "pending"),
        ({"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_RESTRICTED_MODE": "true"}, "pending"),
        ({"GEMINI_CLI_TRUSTED_FOLDERS_PATH": "trust.json"}, "enabled"),
    ],
)
def test_variables_speak_of_trust_too(desk: Desk, variables: dict[str, str], status: str) -> None:
    shop = desk.project("shop")
    desk.write(shop / "trust.json", {str(shop): "TRUST_FOLDER"})
    desk.write(user_file(desk), servers("git"))
    desk.variables |= variables
    assert outcome(read(desk, shop)) == {"global git": status}


def test_trust_can_be_switched_off_but_not_by_the_project(desk: Desk) -> None:
    shop = desk.project("shop")
    off = {"security": {"folderTrust": {"enabled": False}}}
    desk.write(shop / ".gemini/settings.json", {**servers("git"), **off})
    assert outcome(read(desk, shop)) == {"project git": "pending"}
    desk.write(user_file(desk), off)
    assert outcome(read(desk, shop)) == {"project git": "enabled"}
    desk.write(user_file(desk), {"security": 1})
    assert outcome(read(desk, shop)) == {"project git": "pending"}


def test_every_files_list_must_allow_a_server_and_none_may_exclude_it(desk: Desk) -> None:
    shop = trusted_project(desk)
    desk.write(user_file(desk), {**servers("Git", "wiki", "tides"), "mcp": {"allowed": ["git ", "WIKI"]}})
    project: dict[str, object] = {
        **servers("mine"),
        "mcp": {"allowed": ["git", "wiki"], "excluded": ["WIKI"]},
    }
    desk.write(shop / ".gemini/settings.json", project)
    assert outcome(read(desk, shop)) == {
        "global Git": "enabled",
        "global wiki": "denied",
        "global tides": "denied",
        "project mine": "denied",
    }
    trust(desk)
    assert outcome(read(desk, shop))["global wiki"] == "pending", "an untrusted project's lists do not count"


def test_what_the_user_switched_off_is_disabled(desk: Desk) -> None:
    shop = trusted_project(desk)
    desk.write(user_file(desk), servers("Git", "wiki"))
    switches = {"git": {"enabled": False}, "wiki": {"enabled": True}}
    desk.write(desk.home / ".gemini/mcp-server-enablement.json", switches)
    assert outcome(read(desk, shop)) == {"global Git": "disabled", "global wiki": "enabled"}


@pytest.mark.parametrize(
    ("platform", "folder"),
    [
        ("linux", "machine/etc/gemini-cli"),
        ("darwin", "machine/Library/Application Support/GeminiCli"),
        ("win32", "machineC:\\ProgramData\\gemini-cli"),
    ],
)
def test_the_machines_defaults_are_the_weakest_and_its_settings_the_strongest(
    desk: Desk, platform: str, folder: str
) -> None:
    shop = trusted_project(desk)
    desk.write(desk.root / folder / "system-defaults.json", servers("git", "wiki"))
    desk.write(user_file(desk), servers(git={"command": "user"}))
    desk.write(shop / ".gemini/settings.json", servers("tides"))
    desk.write(desk.root / folder / "settings.json", servers(tides={"command": "system"}))
    reading = read(desk, shop, platform)
    expected = {"global git": "enabled", "global wiki": "enabled", "managed tides": "enabled"}
    assert outcome(reading) == expected
    commands = {item.server: item.launch.command for item in reading.declarations if item.launch is not None}
    assert commands == {"git": "user", "wiki": "run-wiki", "tides": "system"}


def test_a_system_file_that_others_than_root_can_write_is_left_out(desk: Desk) -> None:
    shop = trusted_project(desk)
    planted = desk.write(shop / "system.json", servers("git"))
    planted.chmod(0o666)
    desk.variables["GEMINI_CLI_SYSTEM_SETTINGS_PATH"] = str(planted)
    reading = read(desk, shop)
    assert outcome(reading) == {}
    assert [problem.source for problem in reading.problems] == [str(planted)]


def test_another_home_can_be_named(desk: Desk) -> None:
    shop = desk.project("shop")
    desk.write(desk.root / "elsewhere/.gemini/settings.json", servers("git"))
    desk.write(desk.root / "elsewhere/.gemini/trustedFolders.json", {str(shop): "TRUST_FOLDER"})
    desk.variables["GEMINI_CLI_HOME"] = str(desk.root / "elsewhere")
    assert outcome(read(desk, shop)) == {"global git": "enabled"}


@pytest.mark.parametrize(
    ("entry", "transport"),
    [
        ({"command": "x", "cwd": "sub"}, Transport.STDIO),
        ({"httpUrl": "https://mcp.test/", "url": "https://other.test/"}, Transport.HTTP),
        ({"url": "https://mcp.test/", "command": "x"}, Transport.HTTP),
        ({"url": "https://mcp.test/", "type": "sse"}, Transport.SSE),
    ],
)
def test_a_url_goes_before_a_command(desk: Desk, entry: dict[str, object], transport: Transport) -> None:
    shop = trusted_project(desk)
    desk.write(user_file(desk), servers(git=entry))
    [found] = read(desk, shop).declarations
    assert found.launch is not None
    assert (found.launch.transport, found.launch.url) == (
        transport,
        "" if transport is Transport.STDIO else "https://mcp.test/",
    )


def test_a_bad_entry_is_named_and_the_others_are_declared(desk: Desk) -> None:
    shop = trusted_project(desk)
    desk.write(user_file(desk), servers("good", bad={"args": []}, __proto__={"command": "x"}))
    reading = read(desk, shop)
    assert outcome(reading) == {"global good": "enabled"}
    assert [(item.place, item.reason) for item in reading.problems] == [
        ("mcpServers.bad", "`command` is missing")
    ]


def test_comments_are_read_and_other_mistakes_are_named(desk: Desk) -> None:
    shop = trusted_project(desk)
    desk.write(user_file(desk), '{/* mine */ "mcpServers": {"git": {"command": "x"}} // done\n}')
    assert outcome(read(desk, shop)) == {"global git": "enabled"}
    for content in ('{"mcpServers": {},}', "[]", '{"mcpServers": []}', '{"mcp": {"allowed": "git"}}'):
        desk.write(user_file(desk), content)
        assert [problem.source for problem in read(desk, shop).problems] == [str(user_file(desk))]


def extension(desk: Desk, name: str, *labels: str, folder: Path | None = None) -> None:
    place = folder or desk.home / ".gemini/extensions" / name
    desk.write(place / "gemini-extension.json", {"name": name, "version": "1.0.0", **servers(*labels)})


def test_an_extension_brings_servers_that_yield_by_name_alone(desk: Desk) -> None:
    shop = trusted_project(desk)
    extension(desk, "quill", "git", "spell")
    desk.write(user_file(desk), servers("git", other={"command": "run-spell"}))
    assert outcome(read(desk, shop)) == {
        "plugin quill": "enabled",
        "plugin spell": "enabled",
        "global git": "enabled",
        "global other": "enabled",
    }


def test_an_extension_may_lie_elsewhere_and_be_switched_off_by_directory(desk: Desk) -> None:
    shop = trusted_project(desk)
    extension(desk, "quill", "spell", folder=desk.root / "work/quill")
    link = {"type": "link", "source": str(desk.root / "work/quill")}
    desk.write(desk.home / ".gemini/extensions/quill/.gemini-extension-install.json", link)
    assert outcome(read(desk, shop)) == {"plugin quill": "enabled", "plugin spell": "enabled"}
    switches = desk.home / ".gemini/extensions/extension-enablement.json"
    for rules, is_on in (
        ([f"!{desk.root}/*"], False),
        ([f"!{desk.root}/co*"], False),
        ([f"!{shop}/"], False),
        ([f"!{desk.root}/*", f"{shop}/*"], True),
        ([f"!{str(shop)[:-1]}/*"], True),
        ([5], True),
    ):
        desk.write(switches, {"quill": {"overrides": rules}})
        assert ("plugin spell" in outcome(read(desk, shop))) is is_on, rules
