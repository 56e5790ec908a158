"""The keys and the ended sessions of a shared store, which a gateway uses from many threads."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from threading import Barrier

from support.postgres import Databases, needs_postgres

pytestmark = needs_postgres
THREADS, SESSIONS = 4, 20


def test_a_session_that_one_of_many_threads_ends_is_over_at_other_nodes(databases: Databases) -> None:
    from remit.store.postgres.session_key_store import (
        SqlSessionKeys,  # its driver is not installed everywhere
    )

    address, start = databases.create(), Barrier(THREADS)

    def end(keys: SqlSessionKeys, thread: int) -> list[str]:
        start.wait()
        ended = [f"{thread} {number}" for number in range(SESSIONS)]
        for each in ended:
            keys.bind(each, 1)
            assert keys.is_fixed(each)
        return ended

    with closing(SqlSessionKeys(address)) as one, closing(SqlSessionKeys(address)) as two:
        with ThreadPoolExecutor(THREADS) as threads:
            ended = [each for found in threads.map(partial(end, one), range(THREADS)) for each in found]
        assert len(ended) == THREADS * SESSIONS
        assert [each for each in ended if not two.is_fixed(each)] == []
