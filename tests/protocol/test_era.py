"""The eras of the protocol, and the versions in each."""

import pytest

from remit.gateway.requests.downstream_eras import DOWNSTREAM_ERAS
from remit.protocol.era import Era
from remit.upstream.eras.negotiation import UPSTREAM_ERAS


def test_each_version_belongs_to_one_era() -> None:
    versions = [version for era in Era for version in era.versions]
    assert len(versions) == len(set(versions))
    assert [Era.of(version) for version in versions] == [era for era in Era for _ in era.versions]


def test_an_unknown_version_belongs_to_no_era() -> None:
    assert Era.of("2031-01-01") is None
    assert Era.of(None) is None


@pytest.mark.parametrize(
    ("offered", "common"),
    [
        (["2025-03-26", "2025-06-18", "2031-01-01"], "2025-06-18"),
        (["2026-07-28"], None),
        ([], None),
        ("2025-06-18", None),
        (None, None),
    ],
)
def test_the_latest_common_version_is_chosen(offered: object, common: str | None) -> None:
    assert Era.SESSION.common(offered) == common


def test_every_era_has_an_adapter_on_both_sides() -> None:
    assert [*UPSTREAM_ERAS] == [*DOWNSTREAM_ERAS] == list(Era)
