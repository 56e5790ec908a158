"""The pipes of a server process: nothing is lost, nobody waits for ever."""

import os
import sys

import anyio
import pytest

from remit.upstream.transports.process_pipes import PipeReader, PipeWriter, open_process

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="the event loop of Windows cannot wait for pipes"),
]
LARGE = bytes(range(256)) * 8_000  # far more than a pipe holds


async def test_a_message_larger_than_the_pipe_arrives_whole() -> None:
    reads, writes = os.pipe()
    reader, writer = PipeReader(reads), PipeWriter(writes)
    received: list[bytes] = []
    async with anyio.create_task_group() as tasks:

        async def send() -> None:
            await writer.send(LARGE)
            await writer.aclose()

        tasks.start_soon(send)
        assert not await reader.feed(lambda chunk: received.append(chunk) is None)
    await reader.aclose()
    assert b"".join(received) == LARGE


async def test_who_waits_for_room_learns_that_the_pipe_was_closed() -> None:
    reads, writes = os.pipe()
    writer = PipeWriter(writes)
    async with anyio.create_task_group() as tasks:

        async def send() -> None:
            with pytest.raises(anyio.ClosedResourceError):
                await writer.send(LARGE)

        tasks.start_soon(send)
        await anyio.wait_all_tasks_blocked()
        await writer.aclose()
        await writer.aclose()
    os.close(reads)


async def test_a_message_whose_sender_gives_up_is_written_whole_before_the_next() -> None:
    reads, writes = os.pipe()
    reader, writer = PipeReader(reads), PipeWriter(writes)
    received: list[bytes] = []
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(writer.send, LARGE)
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
    async with anyio.create_task_group() as tasks:

        async def send(item: bytes) -> None:
            await writer.send(item)
            if item == b"b":
                await writer.aclose()

        tasks.start_soon(send, LARGE)
        tasks.start_soon(send, b"b")
        assert not await reader.feed(lambda chunk: received.append(chunk) is None)
    await reader.aclose()
    assert b"".join(received) == LARGE + LARGE + b"b"


async def test_who_writes_learns_that_nobody_reads() -> None:
    reads, writes = os.pipe()
    os.close(reads)
    writer = PipeWriter(writes)
    with pytest.raises(BrokenPipeError):
        await writer.send(b"hello\n")
    await writer.aclose()


async def test_who_waits_for_a_chunk_learns_that_the_pipe_was_closed() -> None:
    reads, writes = os.pipe()
    reader = PipeReader(reads)
    async with anyio.create_task_group() as tasks:

        async def receive() -> None:
            assert not await reader.feed(lambda _: True)

        tasks.start_soon(receive)
        await anyio.wait_all_tasks_blocked()
        await reader.aclose()
        await reader.aclose()
    assert not await reader.feed(lambda _: True)
    os.close(writes)


async def test_nothing_is_read_for_who_has_enough() -> None:
    reads, writes = os.pipe()
    reader, received = PipeReader(reads), list[bytes]()

    def take(chunk: bytes) -> bool:
        received.append(chunk)
        return False

    os.write(writes, b"one")
    assert await reader.feed(take)
    os.write(writes, b"two")
    await anyio.wait_all_tasks_blocked()
    assert received == [b"one"]
    assert await reader.feed(take)
    os.close(writes)
    assert not await reader.feed(take)
    assert received == [b"one", b"two"]
    await reader.aclose()


async def test_an_error_of_who_takes_a_chunk_ends_the_reading() -> None:
    reads, writes = os.pipe()
    reader, received = PipeReader(reads), list[bytes]()

    def refuse(chunk: bytes) -> bool:
        raise ValueError(chunk)

    os.write(writes, b"one")
    with pytest.raises(ValueError, match="one"):
        await reader.feed(refuse)
    os.write(writes, b"two")
    os.close(writes)
    assert not await reader.feed(lambda chunk: received.append(chunk) is None)
    assert received == [b"two"]
    await reader.aclose()


async def test_a_reader_that_is_cancelled_can_read_on() -> None:
    reads, writes = os.pipe()
    reader, received = PipeReader(reads), list[bytes]()
    with anyio.CancelScope() as scope:
        os.write(writes, b"one")
        scope.cancel()
        await reader.feed(lambda chunk: received.append(chunk) is None)
    os.close(writes)
    assert not await reader.feed(lambda chunk: received.append(chunk) is None)
    assert received == [b"one"]
    await reader.aclose()


async def test_a_command_that_does_not_start_leaves_no_pipes_open() -> None:
    before = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set[str]()
    with pytest.raises(OSError, match="no-such-program"):
        await open_process(["/no-such-program"], env={}, cwd="/")
    after = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set[str]()
    assert len(after) <= len(before)
