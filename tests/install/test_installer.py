"""Installing in whatever state the files are, and with whatever goes wrong."""

import json
import os
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.clients.install_targets import ClientTargets
from remit.errors import FileChangeError, InstallError
from remit.files.bounded_reader import Machine
from remit.install.install_record import InstallRecords
from remit.install.installer import Installer
from remit.install.recorded_environment import RecordedEnvironment
from remit.scanning.client_files import ClientFiles

SETTINGS = json.dumps(
    {"model": "opus", "hooks": {"Stop": [{"hooks": []}]}, "allowedMcpServers": [{"serverName": "git"}]},
    indent=2,
)
STATE = json.dumps({"numStartups": 3, "mcpServers": {"git": {"command": "g", "env": {"A": "é"}}}}, indent=2)
FILES = {
    "claude-code": {".claude.json": STATE, ".claude/settings.json": SETTINGS},
    "vscode": {".config/Code/User/mcp.json": '{\n  "servers": { /* none */ }, // yet\n}\n'},
    "codex": {".codex/config.toml": 'model = "x"\n\n[mcp_servers.git]\ncommand = "g"\n\n[tui]\n# mine\n'},
    "gemini-cli": {".gemini/settings.json": '{"mcpServers": {}, /* so */ "mcp": {"allowed": []}}'},
}


RECORDED = RecordedEnvironment(
    "/home/ada", "/home/ada/.local/share/remit", "/home/ada/.config/remit/remit.toml"
)


def installer(home: Path) -> Installer:
    machine = Machine(home=str(home), variables={}, root=str(home / "machine"))
    places = ClientTargets(machine, lambda: ["/opt/remit"])
    return Installer(places, InstallRecords(machine), ClientFiles(machine), lambda: 1, RECORDED)


def bytes_of(home: Path) -> dict[str, bytes]:
    own = home / ".local"
    files = [path for path in home.rglob("*") if path.is_file() and own not in path.parents]
    return {str(path.relative_to(home)): path.read_bytes() for path in files}


def damaged(text: bytes, chance: random.Random) -> bytes:
    """A text with some of its bytes taken out, put in or doubled."""
    data = bytearray(text)
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(4):
            case 0:
                del data[at : at + chance.randrange(1, 9)]
            case 1:
                data[at:at] = chance.choice(
                    (b",", b"}", b'"', b"//", b"\xff", b"\n", b"[", b"\r\n", b"#", b"{}")
                )
            case 2:
                data[at:at] = data[at : at + chance.randrange(20)]
            case _:
                data = data.replace(b"\n", b"\r\n")
    return bytes(data)


@pytest.mark.long
@given(st.sampled_from(sorted(FILES)), st.integers(0, 2**32))
def test_damaged_files_are_left_alone_or_restored_to_the_last_byte(client: str, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secrets
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        for name, text in FILES[client].items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_bytes(damaged(text.encode(), chance))
        before = bytes_of(home)
        tool = installer(home)
        try:
            tool.install(client)
        except (FileChangeError, InstallError):
            assert bytes_of(home) == before
            return
        assert bytes_of(home) != before
        assert not any(change.is_change for change in installer(home).plan(client))
        installer(home).uninstall(client)
        assert bytes_of(home) == before


def test_a_failure_between_two_files_leaves_both_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in FILES["claude-code"].items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    before = bytes_of(tmp_path)
    replace = os.replace

    def fails(source: str, target: str) -> None:
        if target.endswith("settings.json"):
            raise OSError(5, "Input/output error")
        replace(source, target)

    with monkeypatch.context() as broken:
        broken.setattr(os, "replace", fails)
        with pytest.raises(FileChangeError, match=r"settings\.json cannot be changed: Input/output error"):
            installer(tmp_path).install("claude-code")
    assert bytes_of(tmp_path) == before
    assert not installer(tmp_path).is_installed("claude-code")


def test_what_the_client_writes_while_remit_is_installed_is_kept(tmp_path: Path) -> None:
    for name, text in FILES["claude-code"].items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    state = tmp_path / ".claude.json"
    machine = Machine(home=str(tmp_path), variables={}, root=str(tmp_path / "machine"))

    class Busy(InstallRecords):
        """Keeps records, while the client counts its starts."""

        starts = 0

        def save(self, install: object) -> None:
            super().save(install)  # pyright: ignore[reportArgumentType] - as it is called
            self.starts += 1
            if self.starts < 4:
                content = json.loads(state.read_text())
                state.write_text(json.dumps({**content, "numStartups": content["numStartups"] + 1}, indent=2))

    places = ClientTargets(machine, lambda: ["/opt/remit"])
    Installer(places, Busy(machine), ClientFiles(machine), lambda: 1, RECORDED).install("claude-code")
    content = json.loads(state.read_text())
    assert content["numStartups"] == 6
    assert content["mcpServers"].keys() == {"git", "remit"}
    installer(tmp_path).uninstall("claude-code")
    assert state.read_text() == STATE.replace("3", "6")
