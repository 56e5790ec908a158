"""The journal of changes to files: what it undoes, and what it leaves alone."""

import json
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.errors import FileChangeError
from remit.files import ChangeJournal, change_file, differences
from remit.files import journal as journal_module


@pytest.fixture
def journal(tmp_path: Path) -> ChangeJournal:
    ticks = count(1000)
    return ChangeJournal(str(tmp_path / "data/changes"), lambda: next(ticks))


def put(path: Path, text: str | None) -> None:
    change_file(str(path), lambda _: text)


def test_without_changes_there_is_nothing_to_undo(journal: ChangeJournal) -> None:
    assert journal.last() == []
    assert journal.undo() == []


def test_every_byte_of_every_file_comes_back(journal: ChangeJournal, tmp_path: Path) -> None:
    old, new = tmp_path / "old.toml", tmp_path / "deep/er/new.toml"
    gone = tmp_path / "gone.toml"
    old.write_bytes(b"\xef\xbb\xbfa = 1\r\n\xff # not text\r\n")
    gone.write_bytes(b"b = 2")
    before = old.read_bytes()
    with journal.recording("remit install x"):
        put(old, "a = 2\n")
        put(new, "made\n")
        put(new, "made twice\n")
        put(gone, None)
    assert [(entry.command, len(entry.files)) for entry in journal.last()] == [("remit install x", 3)]
    assert sorted(journal.undo()) == sorted(map(str, (old, new, gone)))
    assert (old.read_bytes(), gone.read_bytes()) == (before, b"b = 2")
    assert not (tmp_path / "deep").exists()
    assert journal.last() == []


def test_changes_are_undone_one_command_at_a_time(journal: ChangeJournal, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    for text in ("1", "2", "3"):
        with journal.recording(f"remit {text}"):
            put(file, text)
    journal.undo()
    assert file.read_text() == "2"
    journal.undo()
    assert file.read_text() == "1"
    journal.undo()
    assert not file.exists()


def test_what_follows_from_a_change_is_undone_with_it(journal: ChangeJournal, tmp_path: Path) -> None:
    policy, settings = tmp_path / "remit.toml", tmp_path / "settings.json"
    settings.write_text("{}")
    with journal.recording("remit disable x"):
        put(policy, "x")
    with journal.recording("remit scan", is_derived=True):
        put(settings, '{"deny": ["x"]}')
    assert [entry.command for entry in journal.last()] == ["remit scan", "remit disable x"]
    journal.undo()
    assert settings.read_text() == "{}"
    assert not policy.exists()


def test_a_derived_change_alone_is_not_undone(journal: ChangeJournal, tmp_path: Path) -> None:
    with journal.recording("remit scan", is_derived=True):
        put(tmp_path / "settings.json", "{}")
    assert journal.last() == []


def test_a_file_that_changed_since_is_named_and_nothing_is_undone(
    journal: ChangeJournal, tmp_path: Path
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    with journal.recording("remit x"):
        put(one, "1")
        put(two, "2")
    two.write_text("mine")
    with pytest.raises(FileChangeError, match=f"{two} changed after `remit x`; nothing was undone"):
        journal.undo()
    assert (one.read_text(), two.read_text()) == ("1", "mine")
    two.unlink()
    journal.undo()  # it is as it was before
    assert not one.exists()


def test_a_file_that_was_rewritten_since_is_not_taken_for_its_former_text(
    journal: ChangeJournal, tmp_path: Path
) -> None:
    file = tmp_path / "a"
    file.write_text("old")
    with journal.recording("remit x"):
        put(file, "new")
    file.write_text("other")
    with pytest.raises(FileChangeError, match="changed after"):
        journal.undo()


def test_a_change_that_was_recorded_but_never_made_is_no_obstacle(
    journal: ChangeJournal, tmp_path: Path
) -> None:
    file = tmp_path / "a"
    with journal.recording("remit x"):
        put(file, "new")
    file.unlink()  # as if the process had ended between the record and the change
    assert journal.undo() == [str(file)]
    assert not file.exists()


def test_only_replaced_parts_are_stored(journal: ChangeJournal, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"env": {"TOKEN": "sk-secret"}, "a": 1}')
    with journal.recording("remit x"):
        put(file, '{"first": 1, "env": {"TOKEN": "sk-secret"}, "a": 2}')
    stored = [path.read_text() for path in (tmp_path / "data/changes").iterdir()]
    assert len(stored) == 1
    assert "sk-secret" not in stored[0]
    assert (tmp_path / "data/changes").stat().st_mode & 0o077 == 0


def test_only_the_latest_changes_are_kept(
    journal: ChangeJournal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "MOST_ENTRIES", 2)
    for text in "1234":
        with journal.recording(f"remit {text}"):
            put(tmp_path / "a", text)
    journal.undo()
    journal.undo()
    assert journal.last() == []
    assert (tmp_path / "a").read_text() == "2"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"version": 2}', '{"version": 1, "files": [{}]}'])
def test_a_damaged_entry_is_named(journal: ChangeJournal, tmp_path: Path, text: str) -> None:
    with journal.recording("remit x"):
        put(tmp_path / "a", "1")
    (entry,) = (tmp_path / "data/changes").iterdir()
    assert json.loads(entry.read_text())["version"] == 1
    entry.write_text(text)
    with pytest.raises(FileChangeError, match="is damaged, or a newer Remit wrote it"):
        journal.undo()


@given(st.text('ab\n"{}: ', max_size=40), st.text('ab\n"{}: ', max_size=40))
def test_the_differences_turn_one_text_into_the_other(before: str, after: str) -> None:
    starts = [0, *(at + 1 for at, char in enumerate(before) if char == "\n")]
    made, done = "", 0
    for line, column, removed, inserted in differences(before, after):
        at = starts[line - 1] + column - 1
        assert before.startswith(removed, at)
        made, done = made + before[done:at] + inserted, at + len(removed)
    assert made + before[done:] == after


def test_long_texts_are_compared_line_by_line() -> None:
    before = "".join(f"line {at}\n" for at in range(30_000))
    after = before.replace("line 5\n", "line five\n").replace("line 29990\n", "")
    assert sum(len(difference.removed) for difference in differences(before, after)) < 30


def test_a_link_that_was_put_in_the_way_is_not_followed(journal: ChangeJournal, tmp_path: Path) -> None:
    file, other = tmp_path / "a.toml", tmp_path / "other.toml"
    with journal.recording("remit disable x"):
        put(file, "new")
    other.write_text("new")
    file.unlink()
    file.symlink_to(other)
    with pytest.raises(FileChangeError, match="leads elsewhere"):
        journal.undo()
    assert other.read_text() == "new"


def test_a_change_whose_files_have_their_former_content_is_skipped(
    journal: ChangeJournal, tmp_path: Path
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    with journal.recording("remit disable x"):
        put(one, "1")
    with journal.recording("remit disable y"):
        put(two, "2")
    two.unlink()
    assert [entry.command for entry in journal.drop_settled()] == ["remit disable y"]
    assert [entry.command for entry in journal.entries()] == ["remit disable x"]
    one.write_text("mine")
    assert journal.drop_settled() == []


def test_for_an_install_in_a_file_that_changed_since_the_hint_is_to_uninstall(
    journal: ChangeJournal, tmp_path: Path
) -> None:
    with journal.recording("remit install claude-code"):
        put(tmp_path / "a", "1")
    (tmp_path / "a").write_text("2")
    with pytest.raises(FileChangeError) as failed:
        journal.undo()
    assert (failed.value.hint or "").startswith("run `remit uninstall claude-code`")
