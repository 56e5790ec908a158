import pytest

from remit.install.install_record import Edit, WrittenKey
from remit.install.remit_entries import own_keys, starts

WANTED = {"type": "stdio", "command": "/new/remit", "args": ["serve", "--client", "claude-code"]}
SERVER = Edit(("mcpServers", "remit"), WANTED)
HOOK = Edit(("hooks", "Stop"), {"hooks": []}, is_item=True)
ALLOWED = Edit(("allowedMcpServers",), [{"serverName": "remit"}, {"serverName": "wsx"}])


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "/opt/remit", "args": ["serve"]},
        {"command": "uvx", "args": ["remit", "serve", "--client", "x"]},
        {"command": "python", "args": ["-m", "remit", "serve"]},
        {"command": "C:\\bin\\remit.exe serve"},
    ],
)
def test_an_entry_that_starts_remit_is_known_by_its_words(entry: object) -> None:
    assert starts(entry, "serve")
    assert not starts(entry, "hook")


@pytest.mark.parametrize("entry", [None, [], {"command": 1}, {"command": "remit"}, {"args": "serve"}])
def test_other_things_start_nothing_of_remit(entry: object) -> None:
    assert not starts(entry, "serve")


def test_an_entry_of_another_environment_is_our_own() -> None:
    older = {
        **WANTED,
        "command": "/old/bin/python",
        "args": ["-m", "remit", "serve", "--client", "claude-code"],
    }
    assert list(own_keys([SERVER], [older])) == [WrittenKey(path=SERVER.path, value=older, known=1)]


@pytest.mark.parametrize(
    "entry", [None, {"command": "git"}, {**WANTED, "env": {"A": "b"}}, {**WANTED, "args": ["remit", "serve"]}]
)
def test_an_entry_that_a_person_wrote_is_theirs(entry: object) -> None:
    assert list(own_keys([SERVER], [entry])) == []


def test_a_group_of_hooks_is_our_own_when_all_of_it_is() -> None:
    own = {"hooks": [{"type": "command", "command": "/opt/remit", "args": ["hook"]}]}
    mixed = {"hooks": [*own["hooks"], {"type": "command", "command": "mine"}]}
    groups: list[object] = [own, mixed, {"hooks": []}, {"hooks": 1}, "x"]
    assert list(own_keys([HOOK], [groups])) == [WrittenKey(path=HOOK.path, value=own, is_item=True)]


def test_remits_name_on_a_list_of_names_is_our_own() -> None:
    named = Edit(("mcp", "allowed"), "remit", is_item=True)
    assert list(own_keys([named], [["git", "remit"]])) == [
        WrittenKey(path=named.path, value="remit", is_item=True),
    ]
    assert list(own_keys([named], [["git"]])) == []


def test_the_matchers_of_a_list_with_remit_in_it_are_our_own() -> None:
    others: list[object] = [{"serverCommand": ["git"]}, {"serverName": "git"}]
    items: list[object] = [{"serverName": "remit"}, {"serverName": "wsx"}]
    (key,) = own_keys([ALLOWED], [[*others, *items]])
    assert key.value == [*items, None]
    assert list(own_keys([ALLOWED], [[{"serverName": "wsx"}]])) == []
