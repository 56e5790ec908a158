from dataclasses import replace

from remit.decision.declared_launch import Launch
from remit.decision.definitions.entry_digests import entry_change, untrusted_reason, with_files


def test_the_digest_of_an_entry_without_files_stays_as_it_was() -> None:
    launch = Launch(command="npx")
    assert with_files("2:d", {}) == "2:d"
    assert replace(launch, runner_files={"a": "0"}).digest.startswith(f"{launch.digest}|a=")


def test_each_file_that_changed_is_named() -> None:
    before = with_files("2:d", {"a": "0", "b": "0", "c": "0"})
    after = with_files("2:d", {"b": "1", "c": "0", "d": "0"})
    assert entry_change(before, after) == "`a` was removed, `b` changed, `d` was added"


def test_another_entry_is_more_than_a_change_of_files() -> None:
    assert entry_change("2:d", "2:e|a=0") is None
    assert entry_change("2:d|a=0", "2:d|a=0") is None
    assert entry_change(None, "2:d|a=0") is None
    assert entry_change(None, None) is None


def test_the_reason_names_files_only_if_they_are_all_that_changed() -> None:
    assert untrusted_reason("2:d", "2:d|a=0") == "not trusted since `a` was added"
    assert untrusted_reason("2:d", "2:e|a=0") == untrusted_reason(None, "2:d") == "not trusted"


def test_no_directory_can_look_like_another_file_and_its_digest() -> None:
    two = with_files("2:d", {".npmrc": "0", "x/.npmrc": "1"})
    one = with_files("2:d", {".npmrc=0|x/.npmrc": "1"})
    assert one != two
    assert with_files("2:d", {"a b": "0"}) != with_files("2:d", {"a%20;b": "0"})
    assert entry_change("2:d", one) == "`.npmrc%3d;0%7c;x/.npmrc` was added"
