"""What Remit puts into a file comes out again, whoever wrote to the file in between."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.decision.declared_launch import Launch, Transport
from remit.files.splices import Splice, TextEditError
from remit.install.file_edits import EditableText, apply_edits, is_in_place, remove_edits
from remit.install.install_record import (
    Edit,
    Format,
    InstallRecord,
    WrittenKey,
    matcher,
    read,
    unserved_servers,
    write,
)
from support.builders import declared

ENTRY = {"command": "/opt/remit", "args": ["serve"]}
HOOK = {"hooks": [{"type": "command", "command": "/opt/remit", "args": ["hook"]}]}
LIST = [{"serverName": "remit"}]
SERVER = Edit(("mcpServers", "remit"), ENTRY)
HOOKS = [Edit(("hooks", event), HOOK, is_item=True) for event in ("SessionStart", "PreToolUse")]
ALLOWED = Edit(("allowedMcpServers",), LIST)
ALL = [SERVER, *HOOKS, ALLOWED]

BASH: dict[str, Any] = {"matcher": "Bash", "hooks": []}
groups = st.lists(st.sampled_from([BASH, HOOK]), max_size=2)
settings: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "model": st.just("opus"),
        "hooks": st.dictionaries(st.sampled_from(["SessionStart", "Stop"]), groups, max_size=2),
        "allowedMcpServers": st.lists(st.sampled_from([{"serverName": "git"}, LIST[0]]), max_size=2),
        "mcpServers": st.dictionaries(st.sampled_from(["git", "remit"]), st.just({"command": "x"})),
        "env": st.just({"TOKEN": "t0p"}),
    },
)
hands = st.sampled_from([None, 2, 4, "\t"])


def rewritten(text: str) -> str:
    """As a client writes a file anew, with something of its own in it."""
    return json.dumps({**json.loads(text), "numStartups": 7}, indent=2)


@given(settings, hands)
def test_a_file_that_nobody_else_wrote_to_is_restored_to_the_last_byte(
    content: dict[str, Any], indent: int | str | None
) -> None:
    text = json.dumps(content, indent=indent)
    after, file = apply_edits(text, "/f", Format.JSON, ALL)
    assert is_in_place(after, Format.JSON, ALL)
    taken = remove_edits(after, file)
    assert (taken.text, taken.left) == (text, ())


@given(settings, hands)
def test_of_a_file_that_somebody_wrote_anew_only_our_keys_are_taken_out(
    content: dict[str, Any], indent: int | str | None
) -> None:
    after, file = apply_edits(json.dumps(content, indent=indent), "/f", Format.JSON, ALL)
    taken = remove_edits(rewritten(after), file)
    assert json.loads(taken.text) == {**content, "numStartups": 7}
    assert taken.left == []


@given(settings)
def test_what_was_put_in_twice_is_put_in_once(content: dict[str, Any]) -> None:
    after, file = apply_edits(json.dumps(content), "/f", Format.JSON, ALL)
    again, _ = apply_edits(remove_edits(after, file).text, "/f", Format.JSON, ALL)
    assert again == after


def test_a_record_holds_nothing_of_a_file_but_what_was_replaced() -> None:
    text = json.dumps({"env": {"TOKEN": "t0p"}, "allowedMcpServers": [{"serverName": "git"}]})
    _, file = apply_edits(text, "/f", Format.JSON, ALL)
    written = write(InstallRecord(client="claude-code", at=5, files=[file]))
    assert "t0p" not in written
    assert "git" in written


@given(settings)
def test_a_record_is_read_as_it_was_written(content: dict[str, Any]) -> None:
    _, file = apply_edits(json.dumps(content), "/f", Format.JSON, ALL)
    install = InstallRecord(client="claude-code", at=5, files=(file,))
    assert read(write(install)) == install
    assert install.file("/f") is file
    assert install.file("/g") is None


def test_what_is_done_to_a_file_anew_takes_the_place_of_what_was_done_before() -> None:
    first, second = (apply_edits(text, "/f", Format.JSON, ALL)[1] for text in ("{}", '{"a": 1}'))
    install = InstallRecord(client="claude-code", at=5, files=(first,))
    assert install.with_file(second).files == (second,)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not a record"),
        ("[]", "not a record"),
        ("{}", "not a record"),
        ('{"version": 2, "client": "x", "at": 1, "ground": {}, "files": [{}]}', "not a record"),
        ('{"version": 9}', "a newer Remit"),
    ],
)
def test_what_is_no_record_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read(text)


def test_a_file_that_was_not_changed_after_all_stays_as_it_is() -> None:
    _, file = apply_edits("{}", "/f", Format.JSON, ALL)
    assert remove_edits("{}", file) == ("{}", ())


@pytest.mark.parametrize("splice", [Splice(0, "x", ""), Splice(0, "", "x")])
def test_a_record_that_does_not_fit_the_text_is_not_believed(splice: Splice) -> None:
    after, file = apply_edits('{"a": 1}', "/f", Format.JSON, [SERVER])
    assert remove_edits(after, replace(file, steps=[[splice]])).text == '{"a": 1}'


def test_a_new_file_is_made_of_nothing() -> None:
    assert not is_in_place(None, Format.JSON, ALL)
    assert is_in_place(None, Format.JSON, [])
    after, file = apply_edits(None, "/f", Format.JSON, [SERVER])
    assert json.loads(after) == {"mcpServers": {"remit": ENTRY}}
    assert file.is_new
    assert remove_edits(after, file).text == "{}\n"


@pytest.mark.parametrize("format", Format)
@pytest.mark.parametrize("blank", ["", "\ufeff", " \r\n\t\n"])
def test_a_file_that_says_nothing_is_filled_and_says_nothing_again(blank: str, format: Format) -> None:
    assert not is_in_place(blank, format, [SERVER])
    after, file = apply_edits(blank, "/f", format, [SERVER])
    assert is_in_place(after, format, [SERVER])
    assert remove_edits(after, file) == (blank, ())
    assert remove_edits("\n", file) == ("\n", ())  # somebody emptied it since


def test_something_of_another_kind_is_not_what_is_wanted() -> None:
    assert not is_in_place('{"hooks": {"SessionStart": 1}}', Format.JSON, HOOKS[:1])
    assert not is_in_place('{"mcpServers": {"remit": 1}}', Format.JSON, [SERVER])
    assert not is_in_place("{}", Format.JSON, [SERVER])


def test_a_list_that_others_changed_loses_our_items_alone_and_that_is_told() -> None:
    after, file = apply_edits("{}", "/f", Format.JSON, [ALLOWED])
    changed = json.dumps({"allowedMcpServers": [{"serverName": "wiki"}, *LIST]})
    taken = remove_edits(changed, file)
    assert json.loads(taken.text) == {"allowedMcpServers": [{"serverName": "wiki"}]}
    assert taken.left == ["allowedMcpServers"]
    emptied = remove_edits('{"allowedMcpServers": []}', file)
    assert (json.loads(emptied.text), emptied.left) == ({}, [])
    assert after != changed


def test_earlier_items_come_back_into_a_list_that_others_changed() -> None:
    earlier = [{"serverName": "git"}, {"serverName": "wiki"}]
    _, file = apply_edits(json.dumps({"allowedMcpServers": earlier}), "/f", Format.JSON, [ALLOWED])
    changed = json.dumps({"allowedMcpServers": [*LIST, {"serverName": "wiki"}]})
    taken = remove_edits(changed, file)
    assert json.loads(taken.text) == {"allowedMcpServers": [{"serverName": "wiki"}, {"serverName": "git"}]}
    assert taken.left == []


def test_an_entry_that_others_changed_is_ours_all_the_same() -> None:
    after, file = apply_edits('{"mcpServers": {}}', "/f", Format.JSON, [SERVER])
    changed = after.replace("/opt/remit", "/usr/bin/remit")
    assert remove_edits(changed, file).text == '{"mcpServers": {}}'


def test_what_others_took_out_stays_out() -> None:
    _, file = apply_edits('{"allowedMcpServers": []}', "/f", Format.JSON, ALL)
    assert remove_edits('{"a": 1}', file) == ('{"a": 1}', [])


def test_toml_is_edited_and_restored() -> None:
    before = "[mcp_servers.git]\ncommand = 'git'\n"
    change = Edit(("mcp_servers", "remit"), ENTRY)
    after, file = apply_edits(before, "/f", Format.TOML, [change])
    assert is_in_place(after, Format.TOML, [change])
    assert remove_edits(after, file).text == before
    assert remove_edits(f"# mine\n{after}", file).text == f"# mine\n{before}"


def test_an_earlier_table_of_the_same_name_comes_back() -> None:
    before = "[mcp_servers.remit]\ncommand = 'remit'\nargs = ['serve']\n\n[x]\ny = 1\n"
    change = Edit(("mcp_servers", "remit"), ENTRY)
    after, file = apply_edits(before, "/f", Format.TOML, [change])
    assert remove_edits(after, file).text == before
    restored = EditableText(remove_edits(f"z = 1\n{after}", file).text, Format.TOML)
    assert restored.value(("mcp_servers", "remit")) == ({"command": "remit", "args": ["serve"]},)
    assert restored.value(("x",)) == ({"y": 1},)


@pytest.mark.parametrize(
    ("text", "format", "place"),
    [
        ('{"a": 1,\n}', Format.JSON, "line 2 column 1"),
        ('{"a": // no\n1}', Format.JSON, "line 1 column 7"),
        ('{"mcpServers": []}', Format.JSONC, "line 1 column 16"),
        ("a = \n", Format.TOML, "line 1 column 5"),
    ],
)
def test_a_broken_file_is_refused_with_the_place_of_its_mistake(
    text: str, format: Format, place: str
) -> None:
    with pytest.raises(TextEditError) as refused:
        apply_edits(text, "/f", format, [SERVER])
    assert refused.value.place == place


def test_keys_say_how_much_of_their_way_was_there() -> None:
    _, file = apply_edits('{"hooks": {}}', "/f", Format.JSON, [*HOOKS, SERVER])
    assert [key.known for key in file.keys] == [1, 1, 0]
    assert file.keys[-1] == WrittenKey(path=SERVER.path, value=ENTRY)


def test_servers_over_websockets_and_those_of_agents_stay_their_clients() -> None:
    wire = replace(declared("wire"), launch=Launch(transport=Transport.WEBSOCKET, url="wss://wire.test"))
    unread, plain = declared("git"), replace(declared("wiki"), launch=Launch(command="wiki"))
    agents = replace(declared("peek"), agent="rev", launch=Launch(command="peek"))
    odd = replace(wire, server="we ird")  # which no list of the client can name
    found = unserved_servers([plain, wire, unread, wire, agents, odd])
    assert [matcher(item) for item in found] == [{"serverCommand": ["peek"]}, {"serverName": "wire"}]
