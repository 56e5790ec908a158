"""What is no mistake in a configuration, and still worth a word."""

import tomllib

from remit.configuration.checks.lint import misnamed, remarks
from remit.configuration.config_model import ConfigurationFile, ConfigurationLayer, LoadedFile
from remit.configuration.file_parser import read
from remit.configuration.toml_positions import positions
from remit.decision.kinds import Kind
from remit.decision.tools import Tool
from remit.memory.tool_permissions import TOOLS
from support.builders import server

MACHINE = ConfigurationFile(ConfigurationLayer.MACHINE, "/machine.toml")
PROJECT = ConfigurationFile(ConfigurationLayer.PROJECT, "/project.toml", "/")


def tool(label: str, own: str) -> Tool:
    return server(label)._replace(name=f"mcp__{label}__{own}", kind=Kind.MCP_TOOL)


KNOWN = [
    server("git"),
    tool("git", "log"),
    tool("git", "push"),
    server("web"),
    server()._replace(name="Read", kind=Kind.BUILTIN, server=None),
    server()._replace(name="scout", kind=Kind.SUBAGENT, server=None),
]


def said(text: str, file: ConfigurationFile = PROJECT) -> LoadedFile:
    content, mistakes = read(tomllib.loads(text))
    assert mistakes == []
    return LoadedFile(file, content, positions(text))


def told(*files: LoadedFile) -> list[tuple[str, str, str | None]]:
    return [(severity, each.message, each.hint) for severity, _, each in remarks(files, KNOWN, TOOLS)]


def test_what_means_something_is_not_worth_a_word() -> None:
    text = """
    allow = ["mcp__git__*", "Read"]
    [tools."mcp__git__log"]
    danger = "low"
    [servers.git]
    allow = ["lo*", "mcp__git__push"]
    [servers.web]
    block = ["whatever"]  # it was not asked for its tools yet
    [agents.scout]
    block = ["mcp__git__push"]
    [states.editing]
    on = "mcp__git__push"
    [rooms.git]
    tools = ["mcp__git__*"]
    """
    assert told(said(text)) == []


def test_what_remit_brings_along_is_known_before_a_gateway_has_served_it() -> None:
    text = """
    pinned = ["mcp__remit-memory__save_session"]
    [servers.remit-memory]
    allow = ["retrieve_*"]
    block = ["sve_*"]
    """
    message = "`sve_*` matches no known tool of the server"
    assert told(said(text)) == [("note", message, None)]


def test_patterns_that_mean_nothing_known_are_notes_with_what_was_perhaps_meant() -> None:
    text = """
    block = ["Raed", "mcp__mail__*"]
    [tools.mcp__git__lgo]
    danger = "low"
    [servers.git]
    block = ["psuh"]
    [agents.scut]
    allow = ["mcp__x__y"]
    [states.editing]
    on = "mcp__x__a"
    off = "mcp__x__b"
    [rooms.git]
    tools = ["mcp__x__c"]
    """
    text = f'pinned = ["mcp__x__d"]\n{text}'
    found = told(said(text))
    assert {severity for severity, _, _ in found} == {"note"}
    assert [message for _, message, _ in found] == [
        "`mcp__git__lgo` matches no known tool",
        "`Raed` matches no known tool",
        "`mcp__mail__*` matches no known tool",
        "`mcp__x__y` matches no known tool",
        "`mcp__x__a` matches no known tool",
        "`mcp__x__b` matches no known tool",
        "`mcp__x__d` matches no known tool",
        "`mcp__x__c` matches no known tool",
        "`psuh` matches no known tool of the server",
        "no agent `scut` is known here",
    ]
    assert found[0][2] == "did you mean `mcp__git__log`?"
    assert found[-1][2] == "did you mean `scout`?"


def test_what_a_list_allows_and_blocks_is_a_warning() -> None:
    text = """
    allow = ["mcp__git__log"]
    block = ["mcp__git__*"]
    [servers.git]
    allow = ["push", "log"]
    block = ["pu*"]
    [agents.scout]
    allow = ["Read"]
    block = ["Read"]
    """
    assert told(said(text)) == [
        ("warning", f"`{one}` is also blocked by `{other}`, which wins", "remove one of them")
        for one, other in (("mcp__git__log", "mcp__git__*"), ("push", "pu*"), ("Read", "Read"))
    ]


def test_what_a_rule_says_in_vain_is_a_warning() -> None:
    strict = '[tools."mcp__git__*"]\napproval = true\nai_enabled = false'
    loose = '[tools."mcp__git__log"]\napproval = false\nai_enabled = true'
    expected = [
        (
            "warning",
            f'`tools."mcp__git__*".{key}` in /project.toml is stricter and wins',
            None,
        )
        for key in ("approval", "ai_enabled")
    ]
    assert told(said(f"{strict}\n{loose}")) == expected
    assert told(said(strict), said(loose, MACHINE)) == expected
    assert told(said(strict, MACHINE), said(loose)) == []  # that is a mistake, and told as one
    assert told(said(f'{strict}\n[tools."mcp__git__log"]\napproval = true')) == []


def test_a_misspelled_server_in_a_pattern_is_asked_about() -> None:
    assert told(said('block = ["mcp__gti__*"]')) == [
        ("note", "`mcp__gti__*` matches no known tool", "did you mean `mcp__git__*`?")
    ]


def test_a_table_of_an_unknown_server_is_a_warning_that_says_what_has_no_effect() -> None:
    text = """
    [servers.gti]
    sandbox = {}
    block = ["x"]
    [servers.webb]
    allow = []
    [servers.mail]
    result_budget = 500
    """
    assert told(said(text)) == [
        (
            "warning",
            "no server `gti` is known here, so `sandbox` and `block` have no effect",
            "did you mean `git`?",
        ),
        ("warning", "no server `webb` is known here, so `allow` has no effect", "did you mean `web`?"),
        ("warning", "no server `mail` is known here", None),
    ]


def test_a_table_in_the_users_own_file_may_be_for_a_server_of_another_project() -> None:
    text = """
    [servers.mail]
    result_budget = 500
    [servers.gti]
    result_budget = 500
    [servers.post]
    sandbox = {}
    """
    assert [severity for severity, _, _ in told(said(text, MACHINE))] == ["note", "warning", "warning"]


def test_every_command_hears_of_misspelled_servers_that_a_table_restricts() -> None:
    text = "[servers.gti]\nsandbox = {}\n[servers.post]\nsandbox = {}\n[servers.webb]\nresult_budget = 500"
    found = [(each.path, each.hint) for _, _, each in misnamed([said(text, MACHINE)], lambda: KNOWN)]
    assert found == [(("servers", "gti"), "did you mean `git`?")]


def test_a_table_of_a_known_server_or_of_all_servers_is_no_problem() -> None:
    text = '[servers.git]\nsandbox = {}\n[servers."*"]\nsandbox = {}\n[servers.remit-memory]\nallow = []'
    assert list(misnamed([said(text, MACHINE)], lambda: KNOWN)) == []
