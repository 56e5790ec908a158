"""A gateway that is killed loses no record of a call that it answered."""

import json
from pathlib import Path

import anyio
import pytest

from remit.audit.audit_log import AuditEntry, CallQuery
from remit.decision.client_reports import CallOutcome
from remit.files.checkout import locate
from remit.gateway.call_records.call_journal import CallJournal
from remit.upstream.ports import ServerLists
from remit.usage.call_batch import CallBatch, CallRecord
from support.gateway_fakes import FakeLinks, call, endpoint, names, offered
from support.sandbox import Sandbox

pytestmark = pytest.mark.anyio
PUSH, STATUS = "mcp__git__push", "mcp__git__status"


@pytest.fixture
def shop(sandbox: Sandbox) -> Path:
    sandbox.write_state("git")
    return sandbox.project("shop")


@pytest.fixture
def links() -> FakeLinks:
    return FakeLinks({"git": ServerLists(tools=[offered("status"), offered("push")])})


def record(tool: str, at: int = 5) -> CallRecord:
    entry = AuditEntry(at, "", "claude-code", None, None, tool, "visible", None, "done", 7, 2, 3)
    key = ("claude-code", "mcp_tool", "global", None, None, None, "git", tool)
    return CallRecord((key, CallOutcome("s", succeeded=True)), entry)


def journal(folder: Path) -> CallJournal:
    return CallJournal(str(folder), "claude-code", locate(str(folder)))


def files(folder: Path) -> list[Path]:
    return sorted((folder / "call-journal").iterdir())


def adopted(folder: Path) -> list[CallBatch]:
    found: list[CallBatch] = []
    for batch, written in journal(folder).orphans():
        found.append(batch)
        written.drop()
    return found


def test_a_journal_goes_away_with_its_batch_and_the_next_call_begins_another(tmp_path: Path) -> None:
    one = journal(tmp_path)
    assert one.hand_over() is None
    one.write(record(PUSH))
    one.write(record(STATUS))
    assert [path.stat().st_mode & 0o777 for path in files(tmp_path)] == [0o600]
    first = one.hand_over()
    one.write(record(PUSH))
    second = one.hand_over()
    assert first is not None
    assert second is not None
    assert first.id != second.id
    first.drop()
    assert [path.name for path in files(tmp_path)] == [f"{second.id}.calls"]


def test_what_a_living_gateway_wrote_is_left_to_it_and_what_a_dead_one_wrote_is_adopted_once(
    tmp_path: Path,
) -> None:
    assert adopted(tmp_path) == []
    one = journal(tmp_path)
    one.write(record(PUSH, at=5))
    one.write(record(STATUS, at=6)._replace(use=None))
    written = one.hand_over()
    assert written is not None
    assert adopted(tmp_path) == []
    written.release()  # as the end of its process does
    (found,) = adopted(tmp_path)
    assert (found.id, found.at, found.client, found.workspace.dir) == (
        written.id,
        5,
        "claude-code",
        str(tmp_path),
    )
    assert ([entry.tool for entry in found.entries], found.used) == ([PUSH, STATUS], [record(PUSH).use])
    assert files(tmp_path) == []


def test_a_line_that_was_cut_costs_no_other(tmp_path: Path) -> None:
    one = journal(tmp_path)
    one.write(record(PUSH))
    one.write(record("a tool with half a \ud83d character"))
    written = one.hand_over()
    assert written is not None
    written.release()
    (path,) = files(tmp_path)
    path.write_bytes(path.read_bytes()[:-5])
    assert [entry.tool for (found,) in [adopted(tmp_path)] for entry in found.entries] == [PUSH]


@pytest.mark.parametrize(
    ("content", "left"),
    [("", []), ('{"id": "a"}\n', []), ('{"id": "a"}\n{"use": null}\n', ["x.calls.damaged"])],
)
def test_a_journal_without_calls_goes_away_and_a_damaged_one_is_kept_for_people(
    tmp_path: Path, content: str, left: list[str]
) -> None:
    (tmp_path / "call-journal").mkdir()
    (tmp_path / "call-journal" / "x.calls").write_text(content, "utf-8")
    (tmp_path / "call-journal" / "gone.calls").symlink_to(tmp_path / "nowhere")  # no link is followed
    assert adopted(tmp_path) == []
    assert [path.name for path in files(tmp_path) if not path.is_symlink()] == left


def test_calls_go_on_where_nothing_can_be_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "call-journal").write_text("in the way", "utf-8")
    one = journal(tmp_path)
    one.write(record(PUSH))
    one.write(record(PUSH))
    assert one.hand_over() is None
    assert caplog.text.count("calls are not written down before they are stored") == 1


def audited(sandbox: Sandbox, shop: Path) -> list[str]:
    with sandbox.registry() as registry:
        found = registry.audit.find(CallQuery(limit=100), registry.at(str(shop)))
        return sorted(entry.tool for entry in found.entries)


async def test_a_call_is_on_disk_when_it_is_answered_and_is_recorded_by_the_next_gateway(
    sandbox: Sandbox, shop: Path, links: FakeLinks
) -> None:
    data = sandbox.database.parent
    async with endpoint(sandbox, links, shop, keeps_journal=True) as served:
        await names(served)
        await call(served, "git__push")
        (path,) = files(data)
        head, done = map(json.loads, path.read_text("utf-8").splitlines())
        assert done["entry"][5] == PUSH
    assert (audited(sandbox, shop), files(data)) == ([PUSH], [])
    lines = [{**head, "id": "killed"}, {**done, "use": None}]
    for id in (head["id"], "killed"):  # the first was stored just before its gateway was killed
        text = "".join(f"{json.dumps(line)}\n" for line in [{**lines[0], "id": id}, lines[1]])
        (data / "call-journal" / f"{id}.calls").write_text(text, "utf-8")
    async with endpoint(sandbox, links, shop, keeps_journal=True) as served:
        await names(served)
        await call(served, "git__status")
    assert audited(sandbox, shop) == [PUSH, PUSH, STATUS]
    assert files(data) == []


async def test_what_does_not_fit_into_the_spool_waits_for_another_gateway(
    sandbox: Sandbox, shop: Path, links: FakeLinks, caplog: pytest.LogCaptureFixture
) -> None:
    data = sandbox.database.parent
    data.mkdir()
    one = journal(data)
    one.write(record(PUSH))
    written = one.hand_over()
    assert written is not None
    written.release()
    (data / "call-spool").write_text("in the way", "utf-8")
    async with endpoint(sandbox, links, shop, keeps_journal=True):
        with anyio.fail_after(20):
            while "wait in its journal" not in caplog.text:
                await anyio.sleep(0.02)
        assert [batch.id for batch in adopted(data)] == [written.id]
