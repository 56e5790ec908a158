"""Records batches of calls, each once, however often it is delivered."""

from remit.decision.client_reports import ReportedTool
from remit.decision.kinds import Authority
from remit.store import audit_store, usage_store
from remit.store.database import Database
from remit.usage.call_batch import CallBatch

_KEPT = 7 * 86_400_000  # milliseconds for which the ids of batches are kept


def record_calls(database: Database, batch: CallBatch) -> None:
    """Count the uses of a batch and store its audit entries, unless that was done before."""
    reported = ReportedTool("", batch.client, batch.workspace, Authority.HOOK, batch.at, is_scanned=True)
    project = batch.workspace.project
    with database.transaction():
        database.run("see_project", project=project.hash, path=project.path, at=batch.at)
        if not database.rows("note_delivery", id=batch.id, at=batch.at):
            return
        usage_store.count_all(
            database, ((reported._replace(name=key[-1] or "", key=key), use) for key, use in batch.used)
        )
        audit_store.add_entries(database, batch.entries, batch.workspace)
        database.run("forget_deliveries", before=batch.at - _KEPT)
