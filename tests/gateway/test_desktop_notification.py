"""Notifications on the desktop of a call that waits for approval."""

import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from remit.gateway import desktop_notification
from remit.gateway.desktop_notification import ApprovalNotifier, notification_command

BUS = {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1/bus"}


def command(
    variables: dict[str, str], *there: str, tool: str = "mcp__git__push", platform: str = "linux"
) -> list[str] | None:
    return notification_command("id1", tool, variables, exists=there.__contains__, platform=platform)


def test_a_desktop_shows_which_tool_waits_and_how_to_answer() -> None:
    made = command(BUS, "/usr/bin/notify-send")
    assert made is not None
    assert made[0] == "/usr/bin/notify-send"
    assert made[-2:] == ["Remit: approval needed", "mcp__git__push waits for you: remit approve id1"]
    by_socket = command({"XDG_RUNTIME_DIR": "/run/user/1"}, "/usr/bin/notify-send", "/run/user/1/bus")
    assert by_socket == made
    apple = command({}, "/usr/bin/osascript", platform="darwin")
    assert apple is not None
    assert apple[-1] == made[-1]


@pytest.mark.parametrize(
    ("variables", "there", "platform"),
    [
        (BUS, (), "linux"),
        (BUS, ("notify-send", "/repository/notify-send"), "linux"),
        ({}, ("/usr/bin/notify-send",), "linux"),
        ({"XDG_RUNTIME_DIR": "/run/user/1"}, ("/usr/bin/notify-send",), "linux"),
        ({}, (), "darwin"),
    ],
)
def test_where_there_is_no_desktop_nothing_is_run(
    variables: dict[str, str], there: tuple[str, ...], platform: str
) -> None:
    assert command(variables, *there, platform=platform) is None


def test_words_of_a_server_are_neither_markup_nor_options() -> None:
    made = command(BUS, "/usr/bin/notify-send", tool="--hint <a href='x'>\n\u202ex")
    assert made is not None
    assert "--" in made[:-2]
    assert "<" not in made[-1]
    assert "\n" not in made[-1]
    assert "\u202e" not in made[-1]


def test_each_approval_is_notified_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desktop_notification, "_NOTIFY_SEND", (sys.executable,))
    monkeypatch.setattr(desktop_notification, "_MOST_REMEMBERED", 2)
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "x")
    monkeypatch.setattr("sys.platform", "linux")
    ran: list[Sequence[str]] = []
    notifier = ApprovalNotifier(ran.append)
    for id in ("1", "1", "2", "3", "1"):
        notifier.notify(id, "t")
    assert [words[-1].rpartition(" ")[2] for words in ran] == ["1", "2", "3", "1"]


def test_a_notification_does_not_keep_the_caller_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "notify"
    program.write_text(f"#!{sys.executable}\nopen({str(tmp_path / 'done')!r}, 'w')\n")
    program.chmod(0o755)
    monkeypatch.setattr(desktop_notification, "_NOTIFY_SEND", (str(program),))
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "x")
    monkeypatch.setattr("sys.platform", "linux")
    before = {*threading.enumerate()}
    ApprovalNotifier().notify("1", "t")
    for thread in {*threading.enumerate()} - before:
        thread.join()
    assert (tmp_path / "done").exists()
