from pathlib import Path

import pytest

from remit.clients.gemini_cli import CLIENT
from remit.clients.parsing.client_reader import read_client
from remit.decision.client_settings import ClientSettings
from remit.decision.declarations import ClientReading, Declaration
from remit.decision.declared_launch import Transport
from remit.decision.kinds import ConfigStatus
from remit.decision.projects import View
from remit.decision.resolve import resolve
from remit.files.bounded_reader import Machine
from remit.files.checkout import locate
from support.builders import servers
from support.sandbox import Sandbox


def read(sandbox: Sandbox, directory: Path, platform: str = "linux") -> ClientReading:
    machine = Machine(str(sandbox.home), sandbox.variables, platform, root=str(sandbox.root / "machine"))
    return read_client(CLIENT, View(CLIENT.name, locate(str(directory))), machine, now_ns=0)


def outcome(reading: ClientReading) -> dict[str, str]:
    resolved = resolve(reading.declarations, ClientSettings(reading.rules, behavior=reading.behavior))
    kept = [
        item for item in resolved if item.shadowed_by is None or item.config_status is ConfigStatus.PENDING
    ]
    return {key(item.declaration): item.config_status.value for item in kept}


def key(declaration: Declaration) -> str:
    return f"{declaration.scope} {declaration.server or declaration.name}"


def trust(sandbox: Sandbox, *directories: Path, level: str = "TRUST_FOLDER") -> None:
    sandbox.write(sandbox.home / ".gemini/trustedFolders.json", {str(path): level for path in directories})


def trusted_project(sandbox: Sandbox) -> Path:
    shop = sandbox.project("shop")
    trust(sandbox, shop)
    return shop


def user_file(sandbox: Sandbox) -> Path:
    return sandbox.home / ".gemini/settings.json"


def test_a_projects_entry_counts_whole_over_the_users(sandbox: Sandbox) -> None:
    shop = trusted_project(sandbox)
    sandbox.write(
        user_file(sandbox), servers(git={"command": "user", "args": ["--all"]}, wiki={"command": "user"})
    )
    sandbox.write(shop / ".gemini/settings.json", servers(git={"command": "project"}))
    reading = read(sandbox, shop)
    assert outcome(reading) == {"project git": "enabled", "global wiki": "enabled"}
    [winner] = [item for item in reading.declarations if item.scope == "project"]
    assert winner.launch is not None
    assert (winner.launch.command, winner.launch.args) == ("project", ())


def test_only_the_launch_directorys_settings_count(sandbox: Sandbox) -> None:
    shop = trusted_project(sandbox)
    (shop / "api").mkdir()
    sandbox.write(shop / ".gemini/settings.json", servers("git"))
    assert outcome(read(sandbox, shop / "api")) == {}


def test_the_home_has_no_settings_of_a_project(sandbox: Sandbox) -> None:
    trust(sandbox, sandbox.home)
    sandbox.write(user_file(sandbox), servers("git"))
    assert outcome(read(sandbox, sandbox.home)) == {"global git": "enabled"}


def test_in_a_folder_that_is_not_trusted_all_servers_wait(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    sandbox.write(user_file(sandbox), servers("git", "wiki"))
    sandbox.write(shop / ".gemini/settings.json", servers("git"))
    waiting = {"global git": "pending", "global wiki": "pending", "project git": "pending"}
    assert outcome(read(sandbox, shop)) == waiting


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
def test_the_answer_for_the_longest_path_counts(
    sandbox: Sandbox, answers: dict[str, object], status: str
) -> None:
    shop = sandbox.project("shop")
    content = {path.format(root=sandbox.root, shop=shop): level for path, level in answers.items()}
    sandbox.write(sandbox.home / ".gemini/trustedFolders.json", content)
    sandbox.write(user_file(sandbox), servers("git"))
    assert outcome(read(sandbox, shop)) == {"global git": status}


@pytest.mark.parametrize(
    ("variables", "status"),
    [
        ({"GEMINI_CLI_TRUST_WORKSPACE": "true"}, "enabled"),
        ({"GEMINI_CLI_TRUST_WORKSPACE": "1"}, "pending"),
        ({"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_RESTRICTED_MODE": "true"}, "pending"),
        ({"GEMINI_CLI_TRUSTED_FOLDERS_PATH": "trust.json"}, "enabled"),
    ],
)
def test_variables_speak_of_trust_too(sandbox: Sandbox, variables: dict[str, str], status: str) -> None:
    shop = sandbox.project("shop")
    sandbox.write(shop / "trust.json", {str(shop): "TRUST_FOLDER"})
    sandbox.write(user_file(sandbox), servers("git"))
    sandbox.variables |= variables
    assert outcome(read(sandbox, shop)) == {"global git": status}


def test_trust_can_be_switched_off_but_not_by_the_project(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    off = {"security": {"folderTrust": {"enabled": False}}}
    sandbox.write(shop / ".gemini/settings.json", {**servers("git"), **off})
    assert outcome(read(sandbox, shop)) == {"project git": "pending"}
    sandbox.write(user_file(sandbox), off)
    assert outcome(read(sandbox, shop)) == {"project git": "enabled"}
    sandbox.write(user_file(sandbox), {"security": 1})
    assert outcome(read(sandbox, shop)) == {"project git": "pending"}


def test_every_files_list_must_allow_a_server_and_none_may_exclude_it(sandbox: Sandbox) -> None:
    shop = trusted_project(sandbox)
    sandbox.write(
        user_file(sandbox), {**servers("Git", "wiki", "tides"), "mcp": {"allowed": ["git ", "WIKI"]}}
    )
    project: dict[str, object] = {
        **servers("mine"),
        "mcp": {"allowed": ["git", "wiki"], "excluded": ["WIKI"]},
    }
    sandbox.write(shop / ".gemini/settings.json", project)
    assert outcome(read(sandbox, shop)) == {
        "global Git": "enabled",
        "global wiki": "denied",
        "global tides": "denied",
        "project mine": "denied",
    }
    trust(sandbox)
    assert outcome(read(sandbox, shop))["global wiki"] == "pending", (
        "an untrusted project's lists do not count"
    )


def test_what_the_user_switched_off_is_disabled(sandbox: Sandbox) -> None:
    shop = trusted_project(sandbox)
    sandbox.write(user_file(sandbox), servers("Git", "wiki"))
    switches = {"git": {"enabled": False}, "wiki": {"enabled": True}}
    sandbox.write(sandbox.home / ".gemini/mcp-server-enablement.json", switches)
    assert outcome(read(sandbox, shop)) == {"global Git": "disabled", "global wiki": "enabled"}


@pytest.mark.parametrize(
    ("platform", "folder"),
    [
        ("linux", "machine/etc/gemini-cli"),
        ("darwin", "machine/Library/Application Support/GeminiCli"),
        ("win32", "machineC:\\ProgramData\\gemini-cli"),
    ],
)
def test_the_machines_defaults_are_the_weakest_and_its_settings_the_strongest(
    sandbox: Sandbox, platform: str, folder: str
) -> None:
    shop = trusted_project(sandbox)
    sandbox.write(sandbox.root / folder / "system-defaults.json", servers("git", "wiki"))
    sandbox.write(user_file(sandbox), servers(git={"command": "user"}))
    sandbox.write(shop / ".gemini/settings.json", servers("tides"))
    sandbox.write(sandbox.root / folder / "settings.json", servers(tides={"command": "system"}))
    reading = read(sandbox, shop, platform)
    expected = {"global git": "enabled", "global wiki": "enabled", "managed tides": "enabled"}
    assert outcome(reading) == expected
    commands = {item.server: item.launch.command for item in reading.declarations if item.launch is not None}
    assert commands == {"git": "user", "wiki": "run-wiki", "tides": "system"}


def test_a_system_file_that_others_than_root_can_write_is_left_out(sandbox: Sandbox) -> None:
    shop = trusted_project(sandbox)
    planted = sandbox.write(shop / "system.json", servers("git"))
    planted.chmod(0o666)
    sandbox.variables["GEMINI_CLI_SYSTEM_SETTINGS_PATH"] = str(planted)
    reading = read(sandbox, shop)
    assert outcome(reading) == {}
    assert [problem.source for problem in reading.problems] == [str(planted)]


def test_another_home_can_be_named(sandbox: Sandbox) -> None:
    shop = sandbox.project("shop")
    sandbox.write(sandbox.root / "elsewhere/.gemini/settings.json", servers("git"))
    sandbox.write(sandbox.root / "elsewhere/.gemini/trustedFolders.json", {str(shop): "TRUST_FOLDER"})
    sandbox.variables["GEMINI_CLI_HOME"] = str(sandbox.root / "elsewhere")
    assert outcome(read(sandbox, shop)) == {"global git": "enabled"}


@pytest.mark.parametrize(
    ("entry", "transport"),
    [
        ({"command": "x", "cwd": "sub"}, Transport.STDIO),
        ({"httpUrl": "https://mcp.test/", "url": "https://other.test/"}, Transport.HTTP),
        ({"url": "https://mcp.test/", "command": "x"}, Transport.HTTP),
        ({"url": "https://mcp.test/", "type": "sse"}, Transport.SSE),
    ],
)
def test_a_url_goes_before_a_command(
    sandbox: Sandbox, entry: dict[str, object], transport: Transport
) -> None:
    shop = trusted_project(sandbox)
    sandbox.write(user_file(sandbox), servers(git=entry))
    [found] = read(sandbox, shop).declarations
    assert found.launch is not None
    assert (found.launch.transport, found.launch.url) == (
        transport,
        "" if transport is Transport.STDIO else "https://mcp.test/",
    )


def test_a_bad_entry_is_named_and_the_others_are_declared(sandbox: Sandbox) -> None:
    shop = trusted_project(sandbox)
    sandbox.write(user_file(sandbox), servers("good", bad={"args": []}, __proto__={"command": "x"}))
    reading = read(sandbox, shop)
    assert outcome(reading) == {"global good": "enabled"}
    assert [(item.place, item.reason) for item in reading.problems] == [
        ("mcpServers.bad", "`command` is missing")
    ]


def test_comments_are_read_and_other_mistakes_are_named(sandbox: Sandbox) -> None:
    shop = trusted_project(sandbox)
    sandbox.write(user_file(sandbox), '{/* mine */ "mcpServers": {"git": {"command": "x"}} // done\n}')
    assert outcome(read(sandbox, shop)) == {"global git": "enabled"}
    for content in ('{"mcpServers": {},}', "[]", '{"mcpServers": []}', '{"mcp": {"allowed": "git"}}'):
        sandbox.write(user_file(sandbox), content)
        assert [problem.source for problem in read(sandbox, shop).problems] == [str(user_file(sandbox))]


def extension(sandbox: Sandbox, name: str, *labels: str, folder: Path | None = None) -> None:
    place = folder or sandbox.home / ".gemini/extensions" / name
    sandbox.write(place / "gemini-extension.json", {"name": name, "version": "1.0.0", **servers(*labels)})


def test_an_extension_brings_servers_that_yield_by_name_alone(sandbox: Sandbox) -> None:
    shop = trusted_project(sandbox)
    extension(sandbox, "quill", "git", "spell")
    sandbox.write(user_file(sandbox), servers("git", other={"command": "run-spell"}))
    assert outcome(read(sandbox, shop)) == {
        "plugin quill": "enabled",
        "plugin spell": "enabled",
        "global git": "enabled",
        "global other": "enabled",
    }


def test_an_extension_may_lie_elsewhere_and_be_switched_off_by_directory(sandbox: Sandbox) -> None:
    shop = trusted_project(sandbox)
    extension(sandbox, "quill", "spell", folder=sandbox.root / "work/quill")
    link = {"type": "link", "source": str(sandbox.root / "work/quill")}
    sandbox.write(sandbox.home / ".gemini/extensions/quill/.gemini-extension-install.json", link)
    assert outcome(read(sandbox, shop)) == {"plugin quill": "enabled", "plugin spell": "enabled"}
    switches = sandbox.home / ".gemini/extensions/extension-enablement.json"
    for rules, is_on in (
        ([f"!{sandbox.root}/*"], False),
        ([f"!{sandbox.root}/co*"], False),
        ([f"!{shop}/"], False),
        ([f"!{sandbox.root}/*", f"{shop}/*"], True),
        ([f"!{str(shop)[:-1]}/*"], True),
        ([5], True),
    ):
        sandbox.write(switches, {"quill": {"overrides": rules}})
        assert ("plugin spell" in outcome(read(sandbox, shop))) is is_on, rules
