"""The names that tools are served under, and what a name means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.catalog import LONGEST, ServedNames, group_name
from remit.catalog.names import NameClaim, claim_name, rest_of
from remit.decision import OWN, normalise

SERVER = st.text(min_size=1, max_size=80)


def named(*wishes: tuple[str, str], reserved: tuple[str, ...] = ()) -> ServedNames[int]:
    return ServedNames((claim_name(at, server, tool) for at, (server, tool) in enumerate(wishes)), reserved)


def test_a_tool_is_served_as_its_server_and_its_name() -> None:
    names = named(("git", "status"), ("my server", "do.it"))
    assert [names.of(0), names.of(1)] == ["git__status", "my_server__do_it"]


def test_a_plugins_tool_names_the_plugin() -> None:
    names = ServedNames([claim_name(0, "git", "status", "acme")])
    assert names.of(0) == "plugin_acme_git__status"


def test_a_long_name_is_shortened_with_a_hash_that_tells_it_from_others() -> None:
    names = named(("server", "a" * 60 + "1"), ("server", "a" * 60 + "2"))
    assert len(names.of(0)) == len(names.of(1)) == LONGEST
    assert names.of(0) != names.of(1)
    assert len(OWN + names.of(0)) == 64
    assert names.of(0) == named(("server", "a" * 60 + "1")).of(0)


def test_those_that_would_be_called_the_same_are_told_apart() -> None:
    names = named(("a.b", "t"), ("a_b", "t"), ("c", "t"))
    assert names.of(0) != names.of(1)
    assert names.of(2) == "c__t"
    assert names.find("mcp__a_b__t") is None  # it means both
    assert names.find(names.of(1)) == 1


def test_nobody_gets_the_name_that_another_was_given_to_be_told_apart() -> None:
    """A server without a prefix names its tools as it likes, and can work out what another's is called."""
    shared = [NameClaim(0, "git__push", "mcp__git__push"), NameClaim(1, "git__push", "mcp__bad__git__push")]
    given_to_git = ServedNames(shared).of(0)
    copied = [NameClaim(2, given_to_git, "mcp__bad__copy")]
    for names in (ServedNames([*shared, *copied]), ServedNames([*copied, *shared])):
        assert names.of(0) == given_to_git
        assert names.find(given_to_git) == 0
        assert names.find(names.of(2)) == 2
        again = [NameClaim(3, names.of(2), "mcp__worse__copy")]
        more = ServedNames([*shared, *copied, *again])
        assert [more.find(more.of(key)) for key in range(4)] == [0, 1, 2, 3]


def test_hashes_that_fall_together_are_told_apart_as_well() -> None:
    alike: list[NameClaim[int | str]] = [NameClaim(1, "t", "mcp__a__t"), NameClaim("1", "t", "mcp__a__t")]
    names = ServedNames(alike)
    assert [names.find(names.of(1)), names.find(names.of("1"))] == [1, "1"]


@pytest.mark.parametrize(
    ("server", "tool", "canonical"),
    [
        ("mcp", "git__push", "mcp__git__push"),
        ("mcp__git", "push", "mcp__git__push"),
        ("mcp", "remit__git__push", "mcp__remit__git__push"),
    ],
)
def test_no_name_is_the_canonical_one_of_another_tool(server: str, tool: str, canonical: str) -> None:
    names = named((server, tool), ("git", "push"))
    assert names.of(0).startswith("mcp_")
    assert not names.of(0).startswith("mcp__")
    assert names.find(canonical) == 1
    assert names.find(names.of(0)) == 0
    assert named(("mcp", "search")).of(0) == "mcp__search"  # reads like no other tool


def test_a_name_is_found_as_it_is_served_as_the_client_spells_it_and_by_the_canonical_one() -> None:
    names = named(("git", "status"))
    assert [names.find(name) for name in ("git__status", "mcp__remit__git__status", "mcp__git__status")] == [
        0
    ] * 3
    assert names.find("status") is None
    assert names.get(7) is None


@given(st.lists(st.tuples(SERVER, SERVER), max_size=20, unique=True))
def test_each_has_one_name_that_fits_and_means_it(wishes: list[tuple[str, str]]) -> None:
    names = named(*wishes)
    served = [names.of(at) for at in range(len(wishes))]
    assert len(set(served)) == len(wishes)
    assert all(len(name) <= LONGEST for name in served)
    assert [names.find(name) for name in served] == list(range(len(wishes)))
    assert len({normalise(name) for name in served}) == len(wishes)


@pytest.mark.parametrize("name", ["git__Push", "GIT__push"])
def test_names_that_differ_by_case_alone_are_all_told_apart(name: str) -> None:
    names = ServedNames([NameClaim(0, "git__push", "mcp__git__push"), NameClaim(1, name, "mcp__bad__x")])
    assert names.of(0).startswith("git__push_")
    assert names.of(1).casefold().startswith("git__push_")


def test_a_reserved_name_is_not_given_away_in_any_case() -> None:
    names = named(("git", "push"), reserved=("Git__Push",))
    assert names.of(0).startswith("git__push_")
    assert names.find("git__push") is None


def test_the_rest_of_a_name_is_what_its_server_calls_it() -> None:
    for name in ("git__new.one", "mcp__git__new.one", "mcp__remit__git__new.one"):
        assert rest_of(name, "git") == "new.one"
    assert rest_of("web__x", "git") is None
    assert rest_of("git__", "git") is None


def test_a_groups_name_could_be_a_tools() -> None:
    assert group_name("Version control") == "Version_control"
    assert len(group_name("x" * 100)) == LONGEST


def test_a_wish_of_one_canonical_name_twice_is_found_by_neither() -> None:
    names = ServedNames([NameClaim(1, "x", "mcp__a__t"), NameClaim(2, "y", "mcp__a__t")])
    assert names.find("mcp__a__t") is None


def claims(*labels: str) -> list[NameClaim[str]]:
    """Claims of tools that all want the name `git__push`, of one server each."""
    return [NameClaim(label, "git__push", f"mcp__{label.rstrip('12')}__push") for label in labels]


def test_a_name_that_was_given_stays_whoever_claims_it_later() -> None:
    before = ServedNames(claims("git"))
    after = ServedNames(claims("bad", "git"), before=before)
    assert after.of("git") == before.of("git") == "git__push"
    assert after.of("bad").startswith("git__push_")


def test_a_name_with_a_hash_stays_when_its_rival_leaves() -> None:
    before = ServedNames(claims("bad", "git"))
    assert ServedNames(claims("git"), before=before).of("git") == before.of("git") != "git__push"


def test_nobody_takes_the_name_of_one_that_left_except_its_successor() -> None:
    before = ServedNames(claims("git1"))
    gone = ServedNames(claims(), before=before)
    assert ServedNames(claims("bad"), before=gone).of("bad").startswith("git__push_")
    moved = ServedNames(claims("git2"), before=gone)  # the same server, declared elsewhere now
    assert moved.of("git2") == "git__push"
    assert ServedNames(claims("git1", "git2"), before=moved).of("git2") == "git__push"


def test_what_comes_next_to_its_predecessor_gets_another_name() -> None:
    before = ServedNames(claims("git1"))
    after = ServedNames([*claims("git1"), NameClaim("git2", "other", "mcp__git__push")], before=before)
    assert (after.of("git1"), after.of("git2")) == ("git__push", "other")
    both = ServedNames(claims("git1", "git2"), before=before)
    assert (both.of("git1"), both.of("git2").startswith("git__push_")) == ("git__push", True)


def test_a_session_of_very_many_names_forgets_those_no_longer_in_use() -> None:
    names = ServedNames([NameClaim(at, f"t{at}", f"mcp__x__t{at}") for at in range(20_001)])
    assert (
        ServedNames([NameClaim(-1, "t5", "mcp__y__t5")], before=ServedNames([], before=names)).of(-1) == "t5"
    )
