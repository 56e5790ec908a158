"""The lock of a project's servers: what it withholds, how it is written, compared and read."""

import tomllib
from collections.abc import Sequence

import pytest

from remit.decision import Declaration, Launch, Scope
from remit.store import CatalogRow, Store
from remit.trust import (
    Lock,
    LockedServer,
    build_lock,
    differences,
    held,
    held_instructions,
    judged,
    lock_server,
    lock_text,
    losses,
)
from support.builders import SHOP, context, declared
from support.stores import memory_store, scan
from support.trusted import defined, held_as, held_names, keep_tools, row

ROOT = SHOP.checkout
TILL = declared("till", Scope.PROJECT, launch=Launch(command="till"))._replace(source="/code/shop/.mcp.json")
REFUND, SELL = defined(TILL, "refund", "Looks up a refund."), defined(TILL, "sell", "Sells.")
Place = tuple[str, str]
PLACE = (".mcp.json", "till")


def listed_store(*declarations: Declaration) -> Store:
    store = memory_store()
    scan(store, *(declarations or (TILL,)))
    keep_tools(store, TILL, REFUND, SELL, instructions="Amounts are in cents.")
    return store


def locked(store: Store, declaration: Declaration = TILL) -> LockedServer:
    """Lock a server as it was listed."""
    rows = [item for item in store.catalog.rows(context()) if item.tool.server == declaration.server]
    definitions = store.catalog.definitions([item.definition or "" for item in rows], SHOP)
    pinned = [(item.pin, definitions[item.definition]) for item in rows if item.definition and item.pin]
    tools = [item for item in pinned if item[1].tool is not None]
    said = next((item for item in pinned if item[1].tool is None), None)
    server = lock_server(declaration, ROOT, tools, said)
    assert server is not None
    return server


def reread(lock: Lock) -> Lock:
    return Lock.read(tomllib.loads(lock_text(lock)), lock.root)


def lock_of(*servers: LockedServer) -> Lock:
    return build_lock(servers, ROOT)


def server(
    digest: str = "e",
    tools: Sequence[str] | None = ("a",),
    place: tuple[str, str] = PLACE,
    **texts: list[str],
) -> LockedServer:
    pins = None if tools is None else {name: f"pin of {name}" for name in tools}
    return LockedServer(place, digest, pins, None, texts)


def test_a_project_is_served_as_locked_and_what_changes_is_held_although_a_person_accepts_it() -> None:
    store = listed_store()
    lock = reread(lock_of(locked(store)))
    assert held_names(store, lock=lock) == set()
    assert held_instructions(row(store, TILL.name), lock, "note") is None
    keep_tools(store, TILL, defined(TILL, "refund", "Refunds."), SELL, instructions="In euros.")
    assert held_names(store, lock=lock, changes="note") == {REFUND.name}
    reason = held_as(store, REFUND.name, lock=lock, changes="note")
    assert reason.reason == "its definition differs from `remit.lock`"
    said = held_instructions(row(store, TILL.name), lock, "note")
    assert said is not None
    assert said.reason == "its instructions differ from `remit.lock`"
    keep_tools(store, TILL, REFUND, SELL, defined(TILL, "new", "New."))
    assert held_as(store, "mcp__till__new", lock=lock, changes="note").reason == "it is not in `remit.lock`"


def test_a_lock_frees_nothing_that_is_held_for_another_reason() -> None:
    store = listed_store()
    keep_tools(store, TILL, defined(TILL, "refund", "Refunds."), SELL)
    lock = lock_of(locked(store))
    assert held_as(store, REFUND.name, lock=lock).reason == "its definition changed after it was accepted"


def test_another_entry_holds_the_server_and_one_that_is_not_locked_too() -> None:
    store = listed_store()
    lock = lock_of(locked(store))
    scan(store, TILL._replace(digest="other"), declared("web", Scope.PROJECT)._replace(source=TILL.source))
    assert held_as(store, TILL.name, lock=lock).reason == "its entry differs from `remit.lock`"
    assert held_as(store, SELL.name, lock=lock).reason == "the entry of its server differs from `remit.lock`"
    assert held_as(store, "mcp__web__*", lock=lock).reason == "it is not in `remit.lock`"
    assert judged(row(store, TILL.name), lock, "hold").held is not None
    assert "remit trust till" in held_as(store, TILL.name, lock=lock).unlock


def test_a_lock_is_only_about_the_servers_of_its_project_and_an_invalid_one_about_all_of_them() -> None:
    own = declared("notes", launch=Launch(command="notes"))
    store = listed_store(TILL, own)
    keep_tools(store, own, defined(own, "tidy"))
    assert held_names(store, lock=lock_of(server(place=(".mcp.json", "other")))) == {
        TILL.name,
        REFUND.name,
        SELL.name,
    }
    for broken in (
        Lock.read(None, ROOT, "not TOML"),
        Lock.read({"version": 3, "servers": {}}, ROOT),
        Lock.read({"version": 4, "servers": 1}, ROOT),
        Lock.read({"version": 4, "servers": {".mcp.json": {"till": {"entry": 1}}}}, ROOT),
        Lock.read(
            {"version": 4, "servers": {".mcp.json": {"till": {"entry": "e", "tools": {"a": 1}}}}}, ROOT
        ),
    ):
        assert broken.problem
        assert held_names(store, lock=broken) == {TILL.name, REFUND.name, SELL.name}
        assert "`remit.lock` is invalid" in held_as(store, SELL.name, lock=broken).reason
        assert held_instructions(row(store, TILL.name), broken, "hold") is not None


def test_a_server_goes_by_its_file_within_the_checkout() -> None:
    below = TILL._replace(source="/code/shop/api/.mcp.json", dir="/code/shop/api")
    assert locked(listed_store(TILL)).place == PLACE
    places = [lock_server(item, ROOT, None) for item in (below, declared("notes", launch=Launch()))]
    assert places[0] is not None
    assert places[0].place == ("api/.mcp.json", "till")
    assert places[1] is None


def test_a_server_of_the_projects_plugin_goes_by_the_plugins_name_without_paths_of_this_machine() -> None:
    def of_machine(folder: str) -> Declaration:
        launch = Launch(command="${ROOT}/serve", variables={"ROOT": f"{folder}/quill"})
        plugin = declared("spell", Scope.PLUGIN, plugin="quill", launch=launch)
        return plugin._replace(project_hash=SHOP.project.hash, source=f"{folder}/quill/.mcp.json")

    here, there = of_machine("/home/ada/plugins"), of_machine("/Users/bob/plugins")
    lock = lock_of(*(item for item in [lock_server(here, ROOT, [("p1", defined(here, "check"))])] if item))
    assert "ada" not in lock_text(lock)
    other = lock_server(there, ROOT, [("p1", defined(there, "check"))])
    assert other is not None
    assert differences(lock, lock_of(other)) == []
    store = memory_store()
    scan(store, there)
    keep_tools(store, there, defined(there, "check"))
    found = row(store, "mcp__plugin_quill_spell__check")
    assert held(found._replace(pin="p1"), lock, "note") is None
    assert held(found, lock, "note") is not None


def test_a_plugin_that_is_absent_here_is_no_difference() -> None:
    plugin = lock_of(server(place=("plugin quill", "spell")))
    assert differences(plugin, lock_of()) == []
    assert differences(lock_of(), plugin) == ["spell (plugin quill): added"]
    assert differences(lock_of(server(place=("plugin x/.mcp.json", "spell"))), lock_of()) != []


def test_tools_that_are_unknown_are_not_empty_and_unknown_now_is_no_difference() -> None:
    known, unknown, empty = lock_of(server()), lock_of(server(tools=None)), lock_of(server(tools=()))
    assert [reread(lock).servers[PLACE].tools for lock in (unknown, empty)] == [None, {}]
    assert differences(known, unknown) == []
    assert differences(unknown, known) == ["till (.mcp.json): its tools are not locked"]
    assert differences(known, empty) == ["till (.mcp.json): - a"]
    store = listed_store()
    vague = lock_of(locked(store)._replace(tools=None, instructions=None))
    assert held_names(store, lock=vague) == set()
    assert held_instructions(row(store, TILL.name), vague, "hold") is None
    assert held_names(store, lock=lock_of(locked(store)._replace(tools={}))) == {REFUND.name, SELL.name}


def test_instructions_that_are_not_locked_match_none() -> None:
    store = listed_store()
    lock = lock_of(locked(store)._replace(instructions=None))
    assert held_instructions(row(store, TILL.name), lock, "hold") is not None


def test_everything_that_changed_is_named_with_its_lines() -> None:
    before = lock_of(server("e", ["log", "add"], entry=["runs git"], log=["description: a"]))
    now = server("f", ["log", "rm"], entry=["runs git --all"], log=["description: b"], rm=["c"])
    now = now._replace(instructions="i", tools={"log": "p9", "rm": "p"})
    assert differences(before, lock_of(now)) == [
        "till (.mcp.json): its entry changed",
        "    - runs git",
        "    + runs git --all",
        "till (.mcp.json): its instructions changed",
        "    in a part that the lock does not show",
        "till (.mcp.json): - add",
        "till (.mcp.json): ~ log: its definition changed",
        "    - description: a",
        "    + description: b",
        "till (.mcp.json): + rm",
        "    + c",
    ]
    assert differences(before, lock_of()) == ["till (.mcp.json): removed"]
    assert differences(before, lock_of(), unread=[".mcp.json"]) == []
    assert differences(Lock.read(None, ROOT, "it is empty"), lock_of(now)) == [
        "`remit.lock` is invalid: it is empty"
    ]


def test_an_empty_lock_is_never_written_and_none_that_loses_tools() -> None:
    assert losses(None, lock_of()) == ["the files of this project declare no servers"]
    assert losses(None, lock_of(server(tools=None))) == []
    assert losses(lock_of(server()), lock_of(server(tools=None))) == [
        "till (.mcp.json): its tools are not known now"
    ]
    assert losses(lock_of(server(tools=None)), lock_of(server(tools=None))) == []
    other = server(place=("b.json", "web"))
    assert losses(lock_of(server(), other), lock_of(other)) == []  # its file no longer declares it


def test_a_server_that_one_client_listed_is_locked_with_its_tools() -> None:
    assert lock_of(server(tools=None), server()).servers[PLACE].tools == {"a": "pin of a"}
    assert lock_of(server(), server(tools=None)).servers[PLACE].tools == {"a": "pin of a"}


def test_a_lock_has_a_line_for_each_text_and_long_ones_only_by_digest() -> None:
    store = listed_store()
    text = lock_text(lock_of(locked(store)))
    assert '    "description: Looks up a refund.",\n' in text
    assert '    "runs till",\n' in text
    long = server(tools=["a", "b"], a=["x" * 8_001], b=["y" * 8_000])
    assert [*lock_of(long).servers[PLACE].texts] == ["b"]
    many = server()._replace(texts={f"t{number}": ["x" * 7_000] for number in range(60)})
    sizes = [len(lines[0]) for lines in lock_of(many).servers[PLACE].texts.values()]
    assert sum(sizes) == 35 * 7_000


@pytest.mark.parametrize("name", ["till", "a.b", 'q"uo\\te', "ü\u2028\x7f", "", "\ud800", "new\nline"])
def test_any_name_and_text_can_be_locked(name: str) -> None:
    expected = name.replace("\ud800", "\N{REPLACEMENT CHARACTER}")
    lock = reread(lock_of(LockedServer((name, name), "e", {name: "p"}, "i", {name: [name]})))
    assert not lock.problem
    assert lock.servers == {
        (expected, expected): ((expected, expected), "e", {expected: "p"}, "i", {expected: [expected]})
    }


def test_a_row_without_definition_is_held_only_by_its_servers_entry() -> None:
    store = listed_store()
    unlisted: CatalogRow = row(store, SELL.name)._replace(pin=None)
    assert held(unlisted, lock_of(locked(store)._replace(tools={})), "hold") is None
