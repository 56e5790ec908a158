"""Bare `remit`, `tools` and `why`: what a person and an agent are told."""

import re

import pytest

from support.command_line import CommandLine

STDIO = {"command": "/bin/true"}


def test_the_first_look_at_a_terminal_asks_own_servers_and_keeps_the_answer(remit: CommandLine) -> None:
    remit.mine(git=remit.recorded("git", "status", "log"), time=remit.recorded("time", "now"))
    remit.shared(remit.shop, till=remit.recorded("till", "pay"))
    remit.write(remit.home / ".claude/settings.json", {"enableAllProjectMcpServers": True})

    assert "not asked yet" in remit().out
    remit("--json")
    assert (remit.starts("git"), remit.starts("time")) == (0, 0)

    shown = remit.at_terminal().out
    assert "asking servers" in shown
    assert "git 2, time 1" in shown
    assert "warning" not in shown
    remit.at_terminal()
    assert (remit.starts("git"), remit.starts("time"), remit.starts("till")) == (1, 1, 0)


def test_the_overview_is_the_same_in_json_and_says_what_is_next(remit: CommandLine) -> None:
    remit.mine(git=STDIO)
    answer = remit("--json").json

    assert answer["waiting"]["unlisted"] == ["git"]
    assert answer["next"]["command"] in remit().out


def test_where_nothing_is_declared_the_overview_offers_the_demo_and_exits_with_1(remit: CommandLine) -> None:
    finished = remit()

    assert finished.code == 1
    assert "remit demo" in finished.out


def test_an_earlier_database_is_named_once_with_what_is_not_taken_over(remit: CommandLine) -> None:
    remit.mine(git=STDIO)
    old = remit.write(remit.home / ".local/share/remit/remit.db", "x")

    assert (
        remit().err.strip()
        == f"note: {old} is not used any more; its trust, approvals and memory are not taken over"
    )
    assert remit().err == ""


def test_tools_has_a_line_for_each_server_and_kind_with_its_file(remit: CommandLine) -> None:
    remit.mine(git=remit.recorded("git", "status", "log"), wiki=STDIO)
    remit.write(remit.shop / ".claude/commands/tidy.md", "Tidy up")
    remit("tools", "git", "--refresh")

    rows = [re.split(r"\s{2,}", line.strip()) for line in remit("tools").lines[2:6]]
    assert rows[0] == ["tools", "tokens"]
    assert rows[1][:2] == ["git", "2"]
    assert rows[1][-1] == "global, ~/.claude.json"
    assert rows[2] == ["wiki", "?", "?", "global, ~/.claude.json"]
    assert rows[3] == ["commands", "1", "7", "/tidy"]


def test_the_saving_is_the_difference_of_the_figures_that_are_shown(remit: CommandLine) -> None:
    tools = [f"tool_{number}_with_a_rather_long_name" for number in range(40)]
    remit.mine(big=remit.recorded("big", *tools))
    remit("tools", "--refresh")
    text = remit("tools").out

    alone, served = (
        int(number.replace(",", ""))
        for number in re.findall(r"about ([\d,]+)", text.split("tokens per request")[1])[:2]
    )
    told = re.search(r"about ([\d,]+) more", text)
    assert told is not None
    assert int(told[1].replace(",", "")) == served - alone
    assert remit("--json").json["request_tokens"]["client_searches"] is True


def test_hidden_tools_are_listed_by_cause(remit: CommandLine) -> None:
    remit.mine(git=STDIO, wiki=STDIO)
    remit.write(remit.home / ".config/remit/remit.toml", 'block = ["mcp__wiki__*"]\n')

    assert [line for line in remit("tools").lines if line.startswith("  wiki")] == []
    lines = remit("tools", "--all").lines
    at = lines.index("Blocked by a rule: 1")
    assert "wiki" in "\n".join(lines[at:])
    assert "Claude Code still offers 1 server that Remit's rules hide" in "\n".join(lines)


def test_a_server_or_a_kind_is_listed_by_name_and_an_unknown_one_is_asked_about(remit: CommandLine) -> None:
    remit.mine(git=remit.recorded("git", "status", "log"))
    remit.write(remit.shop / ".claude/commands/tidy.md", "Tidy up")
    remit("tools", "--refresh")

    assert "  mcp__git__log" in "\n".join(remit("tools", "git").lines)
    assert [tool["name"] for tool in remit("tools", "commands", "--json").json["tools"]] == ["/tidy"]
    finished = remit("tools", "gti")
    assert (finished.code, finished.out) == (1, "")
    assert "`git`" in finished.err


def test_why_gives_the_decision_and_what_changes_it_and_details_on_demand(remit: CommandLine) -> None:
    remit.mine(wiki=STDIO)
    remit.write(remit.home / ".config/remit/remit.toml", '[tools."mcp__wiki__*"]\nai_enabled = false\n')
    lines = remit("why", "wiki").lines

    assert len(lines) <= 4
    assert lines[0].startswith("mcp__wiki__*: hidden, ")
    assert lines[1].startswith("to change it: ")
    details = remit("why", "wiki", "--details").out
    assert re.search(r"policy +hides", details)
    assert "declared in: ~/.claude.json line" in details


def test_a_server_that_cannot_start_is_not_called_visible_alone(remit: CommandLine) -> None:
    remit.mine(lamp={"command": "/nowhere/lamp"})

    assert "but cannot start: `/nowhere/lamp` does not exist" in remit("why", "lamp").lines[0]
    assert remit("why", "lamp", "--json").json["obstacle"].startswith("cannot start: ")


def test_its_owner_is_told_where_else_a_name_is_declared_and_how_to_bring_it_here(remit: CommandLine) -> None:
    blog = remit.project("blog")
    remit.shared(
        blog, sqlite={"command": "uvx", "args": ["mcp-server-sqlite"], "env": {"DB_TOKEN": "hunter2hunter2"}}
    )
    remit("tools", cwd=blog)
    remit.mine(zebra=STDIO)
    finished = remit("why", "mcp__sqlite__read_query")

    assert finished.code == 1
    assert "declared in another project: ~/work/blog/.mcp.json" in finished.lines
    [command] = [line for line in finished.lines if line.startswith("to use it here: ")]
    assert "claude mcp add-json" in command
    assert "hunter2hunter2" not in command
    assert "zebra" not in finished.out, "it cannot own that name"


@pytest.mark.parametrize("words", [("why", "sqlite"), ("why", "sqlite", "--json"), ("why", "mcp__sqlite__x")])
def test_an_agent_is_told_nothing_of_other_projects(remit: CommandLine, words: tuple[str, ...]) -> None:
    blog = remit.project("blog")
    remit.shared(blog, sqlite=STDIO)
    remit("tools", cwd=blog)
    remit.variables["CLAUDECODE"] = "1"
    nothing = [word.replace("sqlite", "nothing") for word in words]

    assert remit(*words).out.replace("sqlite", "nothing") == remit(*nothing).out


def test_a_similar_name_is_suggested_only_if_it_may_be_meant(remit: CommandLine) -> None:
    remit.mine(git=remit.recorded("git", "git_status"))
    remit("tools", "--refresh")

    assert "did you mean `mcp__git__git_status`?" in remit("why", "git_statsu").err
    assert remit("why", "unrelated_thing").err == ""


def test_the_client_is_the_named_one_or_the_one_on_this_machine(remit: CommandLine) -> None:
    remit.write(remit.home / ".cursor/mcp.json", {"mcpServers": {"kite": STDIO}})

    assert [tool["server"] for tool in remit("tools", "--client", "cursor", "--json").json["tools"]] == [
        "kite"
    ]
    assert remit("tools", "--json").json["client"] == "claude-code"
    (remit.home / ".claude").rmdir()
    assert remit("tools", "--json").json["client"] == "cursor"


def test_remits_own_server_is_never_asked_and_its_tools_are_known(remit: CommandLine) -> None:
    remit.mine(git=remit.recorded("git", "status"), remit={"command": "remit", "args": ["serve"]})
    remit("memory", "on", "--yes")
    row = next(line for line in remit("tools").lines if line.startswith("  remit-memory"))

    assert "?" not in row
    refreshed = remit("tools", "--refresh")
    assert (refreshed.code, refreshed.err) == (0, "")
    assert "remit-memory" not in remit().out.partition("Waiting")[2]
    assert remit.starts("git") == 1
    remit("tools", "remit-memory", "--refresh")
    assert remit.starts("git") == 1


def test_a_server_that_is_not_trusted_waits_for_trust_and_is_not_asked_again(remit: CommandLine) -> None:
    remit.shared(remit.shop, notes=STDIO)
    remit.write(remit.home / ".claude/settings.json", {"enableAllProjectMcpServers": True})
    shown = remit().out

    assert "not trusted: `notes`: remit trust" in shown
    assert "not asked yet" not in shown
    assert remit("--json").json["next"]["command"] == "remit trust"
    assert remit("tools").lines[-1].startswith("next: `remit trust`")
    assert "trust it: `remit trust notes`" in remit("tools", "--refresh").err


def test_a_misspelled_name_is_not_blamed_on_servers_that_were_never_asked(remit: CommandLine) -> None:
    remit.mine(git=remit.recorded("git", "git_status"), files=STDIO)
    remit("tools", "git", "--refresh")

    assert remit("why", "git_statsu").lines == ["git_statsu: not known here"]
    assert "`files`" not in remit("why", "/tidy").out
    assert "`files`" not in remit("why", "mcp__wiki__read").out
    assert "`files`" in remit("why", "convert_units").out


def test_nothing_needs_changing_where_a_tool_only_asks(remit: CommandLine) -> None:
    remit.mine(git=remit.recorded("git", "push"))
    remit("tools", "git", "--refresh")
    remit("ask", "git")
    lines = remit("why", "mcp__git__push").lines

    assert lines[0].startswith("mcp__git__push: ask")
    assert lines[1] == "next: call it, then answer with `remit approve`"


def test_a_hidden_tool_has_its_reason_without_the_name_of_the_check(remit: CommandLine) -> None:
    remit.mine(git=remit.recorded("git", "push"))
    remit("tools", "git", "--refresh")
    remit("disable", "mcp__git__push")

    assert "hidden: disabled in ~" in remit("tools", "git", "--all").out
    assert "policy: " not in remit("tools", "--all").out
