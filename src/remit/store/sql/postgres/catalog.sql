-- Named queries of PostgreSQL that have no like in SQLite, or another form there.

-- name: revisions
select part, sum(number), coalesce(sum(number) filter (where writer = pg_backend_pid()), 0)
from revisions group by part

-- name: merge_revisions
select merge_revisions()

-- name: move_totals
insert into usage_totals (tool_id, project_hash, uses, failures, last_used_at, outcomes)
select cast(:into as bigint), project_hash, uses, failures, last_used_at, outcomes from usage_totals where tool_id = :tool
on conflict (tool_id, project_hash) do update set
    uses = usage_totals.uses + excluded.uses,
    failures = usage_totals.failures + excluded.failures,
    outcomes = right(
        iif(
            usage_totals.last_used_at > excluded.last_used_at,
            excluded.outcomes || usage_totals.outcomes,
            usage_totals.outcomes || excluded.outcomes
        ), 5
    ),
    last_used_at = max(usage_totals.last_used_at, excluded.last_used_at)

-- name: schema_facts
select max(number), current_user::text from schema_version
