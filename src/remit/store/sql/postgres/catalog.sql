-- Named queries of PostgreSQL that have no like in SQLite, or another form there.

-- name: revision
select coalesce(sum(number), 0) from revisions where writer <> pg_backend_pid()

-- name: revisions
select part, sum(number) from revisions group by part

-- name: merge_revisions
with ended as (
    delete from revisions where (part, writer) in (
        select part, writer from revisions
        where writer <> 0 and writer not in (select pid from pg_stat_activity)
        for update skip locked
    )
    returning part, number
)
insert into revisions (part, writer, number)
select part, 0, sum(number) from ended group by part order by part
on conflict (part, writer) do update set number = revisions.number + excluded.number

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
