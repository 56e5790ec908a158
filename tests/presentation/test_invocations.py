"""How a model invokes what it finds, and what the client has itself."""

from dataclasses import replace

from remit.decision.agents import Agent, AgentProfile
from remit.decision.kinds import Authority, ConfigStatus, Kind
from remit.decision.scopes import Scope
from remit.decision.tools import Tool
from remit.presentation.invocations import Invocations, client_decisions, is_clients_own, starters
from support.builders import CLIENT, context, server

SERVING = replace(context(), starts_servers=True)
COMMIT = server("git")._replace(name="mcp__git__commit", kind=Kind.MCP_TOOL)
DEPLOY = Tool(
    "/deploy",
    Kind.SLASH_COMMAND,
    CLIENT,
    Scope.GLOBAL,
    "/f",
    Authority.CONFIG,
    config_status=ConfigStatus.ENABLED,
)
SKILL = DEPLOY._replace(name="invoice", kind=Kind.SKILL)
REVIEWER = DEPLOY._replace(name="reviewer", kind=Kind.SUBAGENT)
REPORTED = Tool(
    "mcp__crm__find", Kind.MCP_TOOL, CLIENT, Scope.GLOBAL, "report", Authority.REPORT, server="crm"
)
BASH = Tool("Bash", Kind.BUILTIN, CLIENT, Scope.GLOBAL, "hook", Authority.HOOK)


def how(tool: Tool, client: str = CLIENT, agent: Agent | None = None, **parts: list[str]) -> str:
    here = replace(SERVING, client=client, agent=agent)
    made = Invocations(
        client=client,
        available=client_decisions(starters(client), here).keys(),
        served={COMMIT.key},
        listed=set(),
        tool_counts={server("git").key: 3},
        parts=parts,
    )
    return made.of(tool)


def test_a_served_tool_is_called_through_the_gateway() -> None:
    assert how(COMMIT) == "Call it with `call_tool`."
    listed = Invocations(
        client=CLIENT, available=(), served={COMMIT.key}, listed={COMMIT.key}, tool_counts={}, parts={}
    )
    assert listed.of(COMMIT) == "Call it directly: it is listed."


def test_commands_skills_and_subagents_are_started_with_the_clients_own_tool() -> None:
    assert how(DEPLOY) == "Start it with your `Skill` tool: `skill` is `deploy`."
    assert how(SKILL) == "Start it with your `Skill` tool: `skill` is `invoice`."
    assert how(REVIEWER) == "Start it with your `Agent` tool: `subagent_type` is `reviewer`."


def test_where_the_model_has_no_such_tool_a_person_has_to() -> None:
    reader = Agent(name="reader", profile=AgentProfile(tools=("Read",)))
    for client, agent in (("cursor", None), (CLIENT, reader)):
        assert how(DEPLOY, client, agent) == (
            "Only a person can invoke it here: ask the user to type `/deploy`."
        )
        assert how(SKILL, client, agent).endswith("`/invoice`.")
        assert how(REVIEWER, client, agent) == (
            "Start it the way your client starts subagents: Remit does not."
        )


def test_what_only_a_person_may_invoke_says_so() -> None:
    manual = DEPLOY._replace(config_status=ConfigStatus.MANUAL)
    assert how(manual) == "Only a person can invoke it: ask the user to type `/deploy`."


def test_a_server_says_how_many_tools_it_has_or_why_none() -> None:
    assert how(server("git")) == "Search for a task to find its tools (3), and call them with `call_tool`."
    assert how(server("new")) == "Its tools are not known yet: search again in a moment."
    assert how(server("bare")._replace(listed_at=1)) == "None of its tools is available here."
    broken = server("broken")._replace(failure="it said\nno license")
    assert how(broken) == "Its tools cannot be listed: it said no license. Only a person can fix that."


def test_a_plugin_names_its_parts() -> None:
    plugin = DEPLOY._replace(name="weather@market", kind=Kind.PLUGIN)
    assert how(plugin) == "A plugin is not invoked itself."
    assert how(plugin, weather=["/weather:now"]) == "Use its parts: `/weather:now`."
    assert how(plugin, weather=list("abcdefg")).endswith("`e` and 2 more.")
    assert how(plugin._replace(plugin="weather"), weather=["x"]) == "Use its parts: `x`."


def test_built_ins_and_reported_tools_are_the_clients_to_call() -> None:
    assert how(BASH) == "Call it directly: it is built into your client."
    for tool in (REPORTED, BASH._replace(name="Frobnicate")):
        assert how(tool) == (f"Remit does not serve it: call `{tool.name}` directly, if your client has it.")


def test_a_called_name_is_explained_with_its_kind() -> None:
    made = Invocations(client=CLIENT, available=(), served=(), listed=(), tool_counts={}, parts={})
    assert made.explain(server("git")).startswith("`git` is an MCP server. Its tools")
    assert made.explain(BASH).startswith("`Bash` is a tool of your client. Call it")


def test_only_what_the_gateway_refuses_for_its_own_sake_is_decided_as_the_client_has_it() -> None:
    manual = DEPLOY._replace(config_status=ConfigStatus.MANUAL)
    adopted = REPORTED._replace(config_status=ConfigStatus.ENABLED)  # a declared server covers its name
    assert [is_clients_own(tool) for tool in (REPORTED, manual, adopted, DEPLOY, COMMIT, BASH)] == [
        *(True, True),
        *(False, False, False, False),
    ]
    decided = client_decisions([REPORTED, manual], SERVING)
    assert {REPORTED.key, manual.key} <= decided.keys()
    elsewhere = REPORTED._replace(scope=Scope.LOCAL, project_hash="another")
    assert elsewhere.key not in client_decisions([elsewhere], SERVING)
