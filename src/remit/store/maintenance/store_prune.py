"""Deletes what is older than the configuration keeps; in PostgreSQL, whole months of the audit log."""

from contextlib import closing
from typing import NamedTuple

from remit.configuration.retention import Retention
from remit.configuration.store_place import is_address
from remit.store.audit_store import entries_to_prune, prune_entries
from remit.store.open_store import open_database, require_driver


class OldRecords(NamedTuple):
    """Records of one kind that are older than they are kept."""

    name: str
    rows: int


def old_records(place: str, kept: Retention, at: int) -> list[OldRecords]:
    """Count what would be deleted.

    Raises:
        StoreError: the store cannot be used, or its user may not delete the audit log.
    """
    audit: list[OldRecords] = []
    if is_address(place):
        require_driver()
        from remit.store.postgres.audit_months import old_months

        months = old_months(place, at - kept.audit)
        audit = [OldRecords(f"audit {month.label}", month.rows) for month in months]
    with closing(open_database(place)) as database:
        if not database.is_append_only:
            audit = [OldRecords("audit", entries_to_prune(database, kept, at))]
        events = database.rows("count_old_events", before=at - kept.usage)[0][0]
    return [*audit, OldRecords("usage", events)]


def prune_store(place: str, kept: Retention, at: int) -> None:
    """Delete what is older than the configuration keeps.

    Raises:
        StoreError: the store cannot be used, or its user may not delete the audit log.
    """
    if is_address(place):
        require_driver()
        from remit.store.postgres.audit_months import drop_months

        drop_months(place, at - kept.audit)
    with closing(open_database(place)) as database, database.transaction():
        if not database.is_append_only:
            prune_entries(database, kept, at)
        database.run("prune_events", before=at - kept.usage)
