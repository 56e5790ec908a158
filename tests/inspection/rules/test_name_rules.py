"""Tools that imitate another server's."""

from remit.decision.tools import Definition
from remit.inspection.inspection_findings import Suspicion
from remit.inspection.rules.name_rules import imitations
from remit.inspection.surroundings import Surroundings

LONG = "Reads a file from the disk and returns its whole content as text, with line numbers if asked to."


def tool(name: str, server: str | None, description: str = "") -> Definition:
    return Definition(name=f"mcp__{server}__{name}", server=server, tool=name, description=description)


def found(definition: Definition, *others: Definition) -> dict[str, Suspicion]:
    around = Surroundings.of([definition, *others])
    return {each.rule: each.severity for each in imitations(definition, around)}


def test_a_tool_of_its_own_imitates_nothing() -> None:
    assert found(tool("read", "files"), tool("write", "files"), tool("send", "mail")) == {}


def test_the_same_name_at_another_server_is_noted() -> None:
    assert found(tool("read_file", "b"), tool("read_file", "a")) == {"imitated-name": Suspicion.LOW}


def test_a_name_with_a_suffix_is_noted() -> None:
    assert found(tool("read_file_v2", "b"), tool("read_file", "a")) == {"imitated-name": Suspicion.LOW}


def test_a_name_that_looks_like_another_is_suspicious() -> None:
    assert found(tool("read_flle", "b"), tool("read_file", "a")) == {"imitated-name": Suspicion.MEDIUM}
    assert found(tool("read_flle", "a"), tool("read_file", "a")) == {}


def test_a_copied_description_is_suspicious_under_another_name() -> None:
    assert found(tool("open", "b", LONG), tool("read", "a", LONG)) == {"copied-description": Suspicion.MEDIUM}
    same = found(tool("read", "b", LONG), tool("read", "a", LONG))
    assert same == {"copied-description": Suspicion.LOW, "imitated-name": Suspicion.LOW}


def test_a_server_that_is_spelled_almost_like_another_is_noted() -> None:
    assert found(tool("x", "githab"), tool("y", "github")) == {"imitated-server": Suspicion.LOW}
    assert found(tool("x", "gitlab"), tool("y", "slack")) == {}
    assert found(tool("x", "gitlab"), tool("y", "postgres")) == {}


def test_many_servers_are_not_compared() -> None:
    crowd = [tool("y", f"server{number}") for number in range(501)]
    assert found(tool("x", "server_1"), *crowd) == {}
