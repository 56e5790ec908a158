"""A client's own permission rules: deny and ask match generously, allow strictly."""

from remit.decision import ClientPermissions, Origin, PermissionEffect, PermissionRule, Tool
from support.builders import tool

ALLOW, ASK, DENY = PermissionEffect.ALLOW, PermissionEffect.ASK, PermissionEffect.DENY


def permissions(*rules: tuple[PermissionEffect, str]) -> ClientPermissions:
    return ClientPermissions(PermissionRule(effect, text, Origin("f")) for effect, text in rules)


def says(effect: PermissionEffect, text: str, row: Tool) -> bool:
    known = permissions((effect, text))
    return {ALLOW: known.allowing, ASK: known.asking, DENY: known.denying}[effect](row) is not None


STATUS = tool("mcp__git__status")
HUB = tool("mcp__git__hub__status", server="git__hub")


def test_a_server_covers_its_tools_and_denial_also_a_server_whose_name_begins_alike() -> None:
    for effect in (ALLOW, ASK, DENY):
        assert says(effect, "mcp__git", STATUS)
        assert says(effect, "mcp__git__status", STATUS)
        assert not says(effect, "mcp__git__log", STATUS)
    assert says(DENY, "mcp__git", HUB)
    assert not says(ALLOW, "mcp__git", HUB)


def test_a_pattern_that_allows_has_to_name_the_whole_server() -> None:
    assert says(DENY, "mcp__*", STATUS)
    assert not says(ALLOW, "mcp__*", STATUS)
    assert says(ALLOW, "mcp__git__*", STATUS)
    assert not says(ALLOW, "mcp__git__*", HUB)


def test_always_allow_through_the_gateway_means_the_tool_behind_it() -> None:
    assert says(ALLOW, "mcp__remit__git__status", STATUS)
    assert not says(ALLOW, "mcp__remit__call_tool", STATUS)


def test_a_rule_about_arguments_is_not_about_the_tool() -> None:
    bash = tool("Bash")
    known = permissions((DENY, "Bash(rm *)"))
    assert known.denying(bash) is None
    assert [rule.text for rule in known.limiting(bash)] == ["Bash(rm *)"]
    assert says(DENY, "Bash(*)", bash)
    assert not says(DENY, "mcp__git__status(x:y)", STATUS)


def test_where_the_order_counts_the_last_match_decides() -> None:
    ordered = permissions((PermissionEffect.ORDERS, ""), (DENY, "mcp__git__*"), (ALLOW, "mcp__git__status"))
    assert ordered.denying(STATUS) is None
    assert ordered.allowing(STATUS) is not None
    assert ordered.denying(tool("mcp__git__push")) is not None


def test_a_servers_own_list_denies_the_rest() -> None:
    listing = permissions(
        (PermissionEffect.LISTS, "mcp__git__status"), (PermissionEffect.RESTRICTS, "mcp__git")
    )
    assert listing.denying(STATUS) is None
    assert listing.denying(tool("mcp__git__push")) is not None
    assert listing.denying(tool("mcp__web__get")) is None
