"""`remit install` in Codex, Gemini CLI and opencode: they stop loading what Remit serves."""

import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from remit.files.formats import parse_jsonc
from support.sandbox import Sandbox


class Client(NamedTuple):
    """A client's file: with servers that Remit serves, one that its user disabled, one that cannot run."""

    name: str
    file: str
    text: str
    own: Callable[[str], str]  # the entry of one more server, put into the text
    edited: tuple[str, str]  # an edit of another part
    project: str  # a project's file


def _codex(text: str) -> str:
    return f'{text}\n\n[mcp_servers.late]\ncommand = "run-late"\n'


def _gemini(text: str) -> str:
    return text.replace('"press": {', '"late": {"command": "run-late"}, "press": {')


def _opencode(text: str) -> str:
    return text.replace('"press": {', '"late": {"type": "local", "command": ["run-late"]}, "press": {')


CODEX = Client(
    "codex",
    ".codex/config.toml",
    '# mine\nmodel = "x"\r\n\n[mcp_servers.press]  # prints\ncommand = "run-press"\n\n[mcp_servers.stapler]\n'
    'enabled = true # yes\ncommand = "run-stapler"\n\n[mcp_servers.off]\nenabled = false\n'
    'command = "run-off"\n[mcp_servers.broken]\ncommand = "run-broken"',
    _codex,
    ('model = "x"', 'model = "y" # since'),
    ".codex/config.toml",
)
GEMINI = Client(
    "gemini-cli",
    ".gemini/settings.json",
    '{\r\n  // mine\r\n  "mcp": {"excluded": ["off"]},\r\n  "mcpServers": {\r\n'
    '    "press": {"command": "run-press"}, "stapler": {"command": "run-stapler"},\r\n'
    '    "off": {"command": "run-off"}, /* x */ "broken": {"command": "run-broken"}\r\n  }\r\n}\r\n',
    _gemini,
    ("// mine", "// mine, since"),
    ".gemini/settings.json",
)
OPENCODE = Client(
    "opencode",
    ".config/opencode/opencode.jsonc",
    '{\n\t// mine\n\t"mcp": {\n\t\t"press": {"type": "local", "command": ["run-press"]},\n\t\t"stapler": {\n'
    '\t\t\t"type": "local",\n\t\t\t"enabled": true,\n\t\t\t"command": ["run-stapler"],\n\t\t},\n'
    '\t\t"off": {"type": "local", "command": ["run-off"], "enabled": false},\n'
    '\t\t"broken": {"type": "local", "command": ["run-broken"]},\n\t},\n}',
    _opencode,
    ("// mine", "// mine, since"),
    "opencode.json",
)
CLIENTS = pytest.mark.parametrize(
    "client", [CODEX, GEMINI, OPENCODE], ids=["codex", "gemini-cli", "opencode"]
)


class Desk:
    """A user's machine with one of the clients."""

    def __init__(self, sandbox: Sandbox, client: Client) -> None:
        self.sandbox, self.client = sandbox, client
        self.shop = sandbox.project("shop")
        self.file = sandbox.write(sandbox.home / client.file, client.text.encode())
        self.record = sandbox.root / f"data/installs/{client.name}.json"
        sandbox.provide("press", "stapler", "off", "late", "till")
        if client is GEMINI:
            sandbox.write(sandbox.home / ".gemini/trustedFolders.json", {str(self.shop): "TRUST_FOLDER"})

    def run(self, *words: str, code: int = 0) -> str:
        done = self.sandbox.remit(*words, cwd=self.shop)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    def install(self) -> str:
        return self.run("install", self.client.name, "--yes")

    def uninstall(self) -> None:
        self.run("uninstall", self.client.name, "--yes")

    def text(self) -> str:
        return self.file.read_bytes().decode()

    def content(self) -> Any:
        text = self.text()
        return tomllib.loads(text) if self.file.suffix == ".toml" else parse_jsonc(text)

    def off(self) -> set[str]:
        """List the servers that the file switches off."""
        content = self.content()
        if self.client is GEMINI:
            return set(content["mcp"]["excluded"])
        entries = content["mcp_servers" if self.client is CODEX else "mcp"]
        return {name for name, entry in entries.items() if entry.get("enabled") is False}

    def tools(self) -> dict[str, str]:
        """Return the verdict on each server, with its reason if it is hidden."""
        told = json.loads(self.run("tools", "--all", "--json", "--client", self.client.name))
        servers = [each for each in told["tools"] if each["kind"] == "mcp_server"]
        return {each["server"]: each["verdict"] for each in servers}

    def declare_till(self) -> None:
        """Declare a server in the project's own file, as its repository would."""
        entries = {
            "codex": '[mcp_servers.till]\ncommand = "run-till"\n',
            "gemini-cli": '{"mcpServers": {"till": {"command": "run-till"}}}',
            "opencode": '{"mcp": {"till": {"type": "local", "command": ["run-till"]}}}',
        }
        self.sandbox.write(self.shop / self.client.project, entries[self.client.name])
        if self.client is CODEX:
            text = self.text()
            self.file.write_bytes(f'{text}\n[projects."{self.shop}"]\ntrust_level = "trusted"\n'.encode())


@pytest.fixture
def desk(sandbox: Sandbox, client: Client) -> Desk:
    return Desk(sandbox, client)


@CLIENTS
def test_what_remit_serves_is_switched_off_and_still_served(desk: Desk) -> None:
    before = desk.tools()
    told = desk.install()
    assert "Remit serves `press` and `stapler`, so" in told
    assert desk.off() == {"press", "stapler", "off"}
    after = desk.tools()
    assert {name: after[name] for name in before} == before
    assert before["press"] == before["stapler"] == "visible"
    assert before["off"] == after["remit"] == "hidden"  # what its user disabled stays disabled


@CLIENTS
def test_a_server_that_cannot_run_stays_with_the_client(desk: Desk) -> None:
    assert "`broken` stays with" in desk.install()
    assert "broken" not in desk.off()


@CLIENTS
def test_the_record_tells_which_switches_are_remits(desk: Desk) -> None:
    desk.install()
    keys = json.loads(desk.record.read_text())["files"][0]["keys"]
    assert [key["switches"] for key in keys if "switches" in key] == ["press", "stapler"]


@pytest.mark.long
@CLIENTS
def test_uninstall_restores_every_byte(desk: Desk) -> None:
    desk.install()
    desk.install()
    desk.uninstall()
    assert desk.text() == desk.client.text
    assert not desk.record.exists()


@CLIENTS
def test_uninstall_keeps_what_was_edited_in_between_and_restores_the_rest(desk: Desk) -> None:
    desk.install()
    old, new = desk.client.edited
    desk.file.write_bytes(desk.text().replace(old, new).encode())
    desk.uninstall()
    assert desk.text() == desk.client.text.replace(old, new)


@CLIENTS
def test_a_server_that_was_added_since_stays_after_uninstall(desk: Desk) -> None:
    desk.install()
    desk.file.write_bytes(desk.client.own(desk.text()).encode())
    desk.uninstall()
    assert desk.text() == desk.client.own(desk.client.text)


@CLIENTS
def test_undo_takes_an_install_back(desk: Desk) -> None:
    desk.install()
    desk.run("undo", "--yes")
    assert desk.text() == desk.client.text
    assert not desk.record.exists()


@CLIENTS
def test_a_file_that_cannot_be_written_leaves_everything_as_it_was(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace

    def fails(source: str, target: str) -> None:
        if target == str(desk.file):
            raise OSError(28, "No space left on device")
        replace(source, target)

    with monkeypatch.context() as broken:
        broken.setattr(os, "replace", fails)
        assert "No space left on device" in desk.run("install", desk.client.name, "--yes", code=2)
    assert desk.text() == desk.client.text
    assert not desk.record.exists()
    assert desk.tools()["press"] == "visible"


@pytest.mark.long
@CLIENTS
def test_a_server_that_was_added_in_the_client_is_reported_until_it_is_taken_over(desk: Desk) -> None:
    desk.install()
    assert "loads `late` itself" not in desk.run("doctor", "--client", desk.client.name, code=1)
    desk.file.write_bytes(desk.client.own(desk.text()).encode())
    for told in (desk.run("doctor", "--client", desk.client.name, code=1), desk.run("status")):
        assert "the client loads `late` itself, next to Remit" in told
        assert f"run `remit install {desk.client.name}`" in told
        assert "loads `press` itself" not in told
    desk.install()
    assert "late" in desk.off()
    assert "loads `late` itself" not in desk.run("status")


@pytest.mark.long
@CLIENTS
def test_a_switch_that_its_user_turned_on_again_is_theirs(desk: Desk) -> None:
    desk.install()
    if desk.client is GEMINI:
        text = desk.text().replace(', "press"', "")
    else:
        head, tail = desk.text().split("press", 1)
        text = f"{head}press{tail.replace('false', 'true', 1)}"
    desk.file.write_bytes(text.encode())
    assert "the client loads `press` itself" in desk.run("status")
    desk.uninstall()
    if desk.client is GEMINI:
        assert desk.text() == desk.client.text
    else:
        assert desk.off() == {"off"}


@pytest.mark.long
@CLIENTS
def test_a_gateway_that_was_removed_by_hand_is_missed(desk: Desk) -> None:
    desk.install()
    text = desk.text().replace("remit", "other").replace("-m", "-x")
    desk.file.write_bytes(text.encode())
    told = desk.run("doctor", "--client", desk.client.name, code=1)
    assert "the client leaves its servers to Remit, and Remit is not loaded: its entry is gone" in told
    assert f"run `remit install {desk.client.name}`, or `remit uninstall {desk.client.name}`" in told


@pytest.mark.long
@CLIENTS
def test_a_projects_server_is_switched_off_only_once_it_is_trusted(desk: Desk) -> None:
    desk.declare_till()
    before = desk.text()
    told = desk.install()
    assert "not trusted, so not available to agents: till" in told
    assert "till" not in desk.off()
    desk.run("trust", "till", "--yes", "--client", desk.client.name)
    assert "the client loads `till` itself" in desk.run("status")
    desk.install()
    if desk.client is CODEX:  # which has no switch for it
        assert "till" not in desk.off()
        assert "move its entry from the project's file to your own" in desk.run("status")
    else:
        assert "till" in desk.off()
        assert desk.tools()["till"] == "visible"
        assert "loads `till` itself" not in desk.run("status")
    desk.uninstall()
    assert desk.text() == before


@CLIENTS
def test_a_dry_run_says_what_the_client_stops_loading_and_writes_nothing(desk: Desk) -> None:
    told = desk.run("install", desk.client.name, "--dry-run")
    assert "stops loading them itself" in told
    assert f"`remit uninstall {desk.client.name}` restores every byte" in told
    assert desk.text() == desk.client.text


@pytest.mark.long
@CLIENTS
def test_the_entry_runs_isolated_with_the_record(desk: Desk) -> None:
    desk.install()
    entry = desk.content()[
        "mcp_servers" if desk.client is CODEX else "mcp" if desk.client is OPENCODE else "mcpServers"
    ]["remit"]
    words = entry["command"] if desk.client is OPENCODE else [entry["command"], *entry["args"]]
    assert Path(words[0]).is_absolute()
    isolated = ["-I", "-m", "remit", "serve", "--client", desk.client.name, "--install", str(desk.record)]
    assert words[-len(isolated) :] == isolated


def test_codex_waits_for_remit_which_takes_longer_than_it_waits_by_itself(sandbox: Sandbox) -> None:
    desk = Desk(sandbox, CODEX)
    desk.install()
    assert desk.content()["mcp_servers"]["remit"]["required"] is True


def test_codex_switches_off_a_plugins_server_where_it_has_its_switch(sandbox: Sandbox) -> None:
    desk = Desk(sandbox, CODEX)
    copy = sandbox.home / ".codex/plugins/cache/orchard/quill/1.0.0"
    sandbox.write(copy / ".codex-plugin/plugin.json", {"name": "quill"})
    sandbox.write(copy / ".mcp.json", {"mcpServers": {"till": {"command": "run-till"}}})
    text = f'{CODEX.text}\n\n[plugins."quill@orchard"]\nenabled = true\n'
    desk.file.write_bytes(text.encode())
    assert desk.tools()["till"] == "visible"
    desk.install()
    plugin = desk.content()["plugins"]["quill@orchard"]
    assert plugin["mcp_servers"] == {"till": {"enabled": False}}
    assert desk.tools()["till"] == "visible"
    desk.uninstall()
    assert desk.text() == text


def test_gemini_is_never_told_to_exclude_remit(sandbox: Sandbox) -> None:
    desk = Desk(sandbox, GEMINI)
    desk.file.write_text('{"mcpServers": {" Remit": {"command": "run-press"}}}')
    desk.install()
    assert "mcp" not in desk.content()


def test_gemini_servers_are_taken_over_before_any_folder_is_trusted(sandbox: Sandbox) -> None:
    desk = Desk(sandbox, GEMINI)
    (sandbox.home / ".gemini/trustedFolders.json").unlink()
    desk.install()
    assert desk.off() == {"press", "stapler", "off"}
    assert "is not loaded" not in desk.run("doctor", "--client", "gemini-cli")


@pytest.mark.parametrize("existing", ["opencode.json", "opencode.jsonc", None])
def test_opencode_is_changed_in_the_strongest_of_its_files(sandbox: Sandbox, existing: str | None) -> None:
    folder = sandbox.home / ".config/opencode"
    sandbox.write(folder / "config.json", '{"mcp": {"press": {"type": "local", "command": ["run-press"]}}}')
    sandbox.provide("press")
    if existing is not None:
        sandbox.write(folder / existing, "{}")
    assert sandbox.remit("install", "opencode", "--yes").returncode == 0
    content = json.loads((folder / (existing or "opencode.json")).read_text())
    assert content["mcp"]["press"] == {"enabled": False}
    assert content["mcp"]["remit"]["type"] == "local"
    assert sandbox.remit("uninstall", "opencode", "--yes").returncode == 0
    assert [path.name for path in folder.iterdir() if path.name != "config.json"] == [existing] * bool(
        existing
    )


def test_opencodes_newer_layout_is_switched_where_its_entries_are(sandbox: Sandbox) -> None:
    desk = Desk(sandbox, OPENCODE)
    text = '{"mcp": {"servers": {"press": {"type": "local", "command": ["run-press"]}}}}'
    desk.file.write_text(text)
    desk.install()
    assert desk.content()["mcp"]["servers"]["press"]["enabled"] is False
    assert desk.tools()["press"] == "visible"
    desk.uninstall()
    assert desk.text() == text


def test_opencode_loads_what_a_projects_file_switches_on_again_and_that_is_reported(sandbox: Sandbox) -> None:
    desk = Desk(sandbox, OPENCODE)
    desk.install()
    sandbox.write(desk.shop / "opencode.json", {"mcp": {"press": {"enabled": True}}})
    assert "the client loads `press` itself" in desk.run("status")


@pytest.mark.parametrize(
    ("client", "step"),
    [
        ("cursor", "in Cursor Settings, under MCP, turn off every server except `remit`"),
        ("vscode", "in the Extensions view, under MCP Servers, disable every server except `remit`"),
        ("claude-desktop", "in the tools menu of a chat, turn off every server except `remit`"),
    ],
)
def test_a_client_without_a_switch_is_told_before_anything_is_written(
    sandbox: Sandbox, client: str, step: str
) -> None:
    shown = sandbox.remit("install", client, "--dry-run")
    assert step in shown.stderr
    declined = sandbox.remit("install", client)  # nobody answers
    assert step in declined.stderr
    assert not (sandbox.root / "data/installs").exists()
