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
    received = b""
    async with anyio.create_task_group() as tasks:

        async def send() -> None:
            await writer.send(LARGE)
            await writer.aclose()

        tasks.start_soon(send)
        async for chunk in reader:
            received += chunk
    await reader.aclose()
    assert received == LARGE


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
            with pytest.raises(anyio.EndOfStream):
                await reader.receive()

        tasks.start_soon(receive)
        await anyio.wait_all_tasks_blocked()
        await reader.aclose()
        await reader.aclose()
    os.close(writes)


async def test_a_chunk_that_nobody_takes_stops_the_reading() -> None:
    reads, writes = os.pipe()
    reader = PipeReader(reads)
    os.write(writes, b"one")
    assert await reader.receive(2) == b"on"
    os.write(writes, b"two")
    await anyio.wait_all_tasks_blocked()
    assert await reader.receive() == b"e"
    assert await reader.receive() == b"two"
    os.close(writes)
    with pytest.raises(anyio.EndOfStream):
        await reader.receive()
    await reader.aclose()


async def test_a_command_that_does_not_start_leaves_no_pipes_open() -> None:
    before = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set[str]()
    with pytest.raises(OSError, match="no-such-program"):
        await open_process(["/no-such-program"], env={}, cwd="/")
    after = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set[str]()
    assert len(after) <= len(before)
