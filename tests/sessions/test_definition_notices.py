"""What a session and the status say about changed definitions."""

from remit.decision.definitions.definition_changes import ChangePolicy, ChangeVerdict, DefinitionChange
from remit.decision.kinds import Kind
from remit.sessions.install_notices import accepted_notices, held_notices
from remit.trust.held_definitions import HeldDefinition


def item(
    name: str, verdict: ChangeVerdict | None, *, server: str = "notes", client: str = "claude-code"
) -> HeldDefinition:
    key = (client, Kind.MCP_TOOL, "global", None, None, None, server, f"mcp__{server}__{name}")
    change = None if verdict is None else DefinitionChange(verdict, "why", "why, in full")
    return HeldDefinition(key=key, change=change, is_news=True)


def test_what_is_held_is_told_by_server_and_each_tool_once() -> None:
    items = [item("a", ChangeVerdict.MATTERS), item("a", ChangeVerdict.MATTERS, client="cursor")]
    items += [item("b", ChangeVerdict.FLAGGED, server="mail"), item("c", ChangeVerdict.REJECTED)]
    assert [notice.reason for notice in held_notices(items, ChangePolicy.HARMLESS)] == [
        "1 definition of `notes` held: changed, suspicious or too large to inspect (mcp__notes__a)",
        "1 definition of `mail` held: changed, suspicious or too large to inspect (mcp__mail__b)",
    ]


def test_what_was_accepted_without_the_user_is_told_with_the_cause() -> None:
    items = [item("a", ChangeVerdict.HARMLESS), item("b", None), item("c", ChangeVerdict.MATTERS)]
    assert [notice.reason for notice in accepted_notices(items, ChangePolicy.HARMLESS)] == [
        "1 definition of `notes` changed and accepted (`trust.changes`) (mcp__notes__a)",
        "1 definition of `notes` changed with its entry and accepted (mcp__notes__b)",
    ]


def test_of_many_tools_five_are_named() -> None:
    items = [item(f"t{number}", ChangeVerdict.MATTERS) for number in range(8)]
    (notice,) = held_notices(items, ChangePolicy.HARMLESS)
    assert notice.reason.startswith("8 definitions of `notes` held")
    assert notice.reason.endswith("mcp__notes__t4 and 3 more)")
