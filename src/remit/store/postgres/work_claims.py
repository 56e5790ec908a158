"""Claims on pieces of work that one node does for all, such as texts to embed.

A claim is an advisory lock of a connection: nobody waits for it, and it ends with the process of its holder.
"""

from collections.abc import Collection, Generator
from contextlib import contextmanager, suppress

from remit.errors import StoreError
from remit.store.database import Database
from remit.store.postgres.word_postings import as_array


@contextmanager
def claimed(database: Database, work: str, ids: Collection[int]) -> Generator[Collection[int]]:
    """Claim pieces of work, except those of other nodes, until the block or this process ends."""
    if not ids:
        yield ids
        return
    found = {id for (id,) in database.rows("claim_work", work=work, ids=as_array(ids))}
    try:
        yield found
    finally:
        with suppress(StoreError):  # the claims of a lost connection are gone
            database.run("release_work", work=work, ids=as_array(found))
