"""The coalescing queue and the broadcaster."""

import anyio

from remit.protocol import Broadcaster, CoalescingQueue


def test_a_pending_item_waits_once_and_its_latest_value_counts() -> None:
    queue = CoalescingQueue[tuple[str, int]](lambda item: item[0])
    for item in (("a", 1), ("b", 1), ("a", 2)):
        queue.put(item)
    assert [queue.pop(), queue.pop()] == [("a", 2), ("b", 1)]
    assert not queue


def test_a_full_queue_drops_new_items_and_keeps_pending_ones() -> None:
    queue = CoalescingQueue[int](limit=2)
    for item in (1, 2, 3, 1):
        queue.put(item)
    assert [queue.pop(), queue.pop()] == [1, 2]
    assert not queue


def test_every_listener_receives_what_was_published_while_it_listened() -> None:
    async def listen() -> list[int]:
        broadcaster = Broadcaster[int]()
        broadcaster.publish(1)
        async with broadcaster.listen() as first, broadcaster.listen() as second:
            assert broadcaster.has_listeners
            broadcaster.publish(2)
            broadcaster.publish(2)
            broadcaster.publish(3)
            received = [await anext(first), await anext(first), await anext(second)]
        assert not broadcaster.has_listeners
        return received

    assert anyio.run(listen) == [2, 3, 2]
