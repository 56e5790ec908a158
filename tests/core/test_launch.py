import pytest

from remit.core.launch import Launch


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("remit", ["serve"]),
        ("/home/ada/.venv/bin/remit", ["serve", "--client", "cursor"]),
        ("C:\\Tools\\remit.exe", ["serve"]),
        ("uvx", ["remit", "serve"]),
        ("uvx", ["--from", "remit", "remit@0.1.0", "serve"]),
        ("python3", ["-m", "remit", "serve"]),
    ],
)
def test_an_entry_that_starts_the_gateway_is_remit_itself(command: str, args: list[str]) -> None:
    assert Launch(command=command, args=tuple(args)).starts_remit


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("remit", ["tools"]),
        ("npx", ["serve"]),
        ("cat", ["/code/remit"]),
        ("remit", []),
        ("premit", ["serve"]),
    ],
)
def test_other_entries_are_not(command: str, args: list[str]) -> None:
    assert not Launch(command=command, args=tuple(args)).starts_remit


def test_a_launch_never_shows_what_it_holds() -> None:
    launch = Launch(command="hush", args=("hush",), env={"A": "hush"}, headers={"B": "hush"})
    assert repr(launch) == "Launch(stdio)"
