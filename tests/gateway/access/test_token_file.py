"""The file of tokens."""

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from remit.configuration.config_model import Role
from remit.decision.projects import identify
from remit.errors import TokenError
from remit.gateway.access.token_file import TokenFile
from remit.gateway.access.token_grants import find_grant

SHOP = identify("/code/shop")


def test_a_token_is_given_once_and_only_its_hash_is_kept(tmp_path: Path) -> None:
    token = TokenFile(str(tmp_path)).add("ci", projects=[SHOP], agents=["reviewer"], at=5)
    (grant,) = TokenFile(str(tmp_path)).grants()
    assert find_grant(token, [grant]) == grant
    assert (grant.name, grant.projects, grant.agents, grant.created_at) == ("ci", (SHOP,), ("reviewer",), 5)
    assert token not in (tmp_path / "tokens.json").read_text("utf-8")


def test_a_token_keeps_its_role(tmp_path: Path) -> None:
    TokenFile(str(tmp_path)).add("ci", projects=[], agents=[], role=Role.READER, at=5)
    (grant,) = TokenFile(str(tmp_path)).grants()
    assert grant.role is Role.READER
    path = tmp_path / "tokens.json"
    path.write_text(path.read_text("utf-8").replace('"reader"', '"king"'), "utf-8")
    with pytest.raises(TokenError, match="cannot be read"):
        TokenFile(str(tmp_path)).grants()


@pytest.mark.skipif(os.name == "nt", reason="files have other rights there")
def test_only_the_user_may_read_the_file(tmp_path: Path) -> None:
    tokens = TokenFile(str(tmp_path))
    tokens.add("ci", projects=[], agents=[], at=0)
    tokens.add("app", projects=[], agents=[], at=0)
    assert stat.S_IMODE((tmp_path / "tokens.json").stat().st_mode) == 0o600
    assert sorted(os.listdir(tmp_path)) == ["tokens.json", "tokens.json.lock"]


def test_no_two_tokens_are_alike_and_none_has_the_name_of_another(tmp_path: Path) -> None:
    tokens = TokenFile(str(tmp_path))
    made = {tokens.add(f"t{number}", projects=[], agents=[], at=0) for number in range(5)}
    assert len(made) == 5
    with pytest.raises(TokenError, match="a token called `t1` already exists"):
        tokens.add("t1", projects=[], agents=[], at=0)


def test_one_that_is_revoked_is_gone_for_everybody_who_reads(tmp_path: Path) -> None:
    reader, writer = TokenFile(str(tmp_path)), TokenFile(str(tmp_path))
    assert reader.grants() == ()
    writer.add("ci", projects=[], agents=[], at=0)
    assert [grant.name for grant in reader.grants()] == ["ci"]
    assert writer.revoke("ci")
    assert list(reader.grants()) == []
    assert not writer.revoke("ci")


def test_of_those_who_add_and_revoke_at_once_none_undoes_what_another_did(tmp_path: Path) -> None:
    start = Barrier(4)

    def change(who: int) -> None:
        tokens = TokenFile(str(tmp_path))
        start.wait()
        for number in range(10):
            tokens.add(f"{who}-{number}", projects=[], agents=[], at=0)
            assert number % 2 == 0 or tokens.revoke(f"{who}-{number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(change, range(4)))
    kept = {grant.name for grant in TokenFile(str(tmp_path)).grants()}
    assert kept == {f"{who}-{number}" for who in range(4) for number in range(0, 10, 2)}


def test_where_the_tokens_cannot_be_kept_the_error_says_so(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    with pytest.raises(TokenError, match="cannot be written"):
        TokenFile(str(tmp_path / "home")).add("ci", projects=[], agents=[], at=0)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"tokens": {}}',
        '{"tokens": [{"name": "x"}]}',
        json.dumps({"tokens": [{"name": "x", "sha256": "y", "projects": "", "agents": [], "created_at": 1}]}),
    ],
)
def test_a_file_that_is_damaged_lets_nobody_in(content: str, tmp_path: Path) -> None:
    (tmp_path / "tokens.json").write_text(content, encoding="utf-8")
    tokens = TokenFile(str(tmp_path))
    with pytest.raises(TokenError, match="cannot be read"):
        tokens.grants()
    with pytest.raises(TokenError):
        tokens.add("ci", projects=[], agents=[], at=0)
    assert (tmp_path / "tokens.json").read_text(encoding="utf-8") == content
