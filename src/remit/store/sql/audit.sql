-- Named queries for the audit log.

-- fragment: selected_calls
    project_hash = :project
    and (:text = '' or instr(lower(tool), lower(:text)) > 0)
    and (cast(:agent as text) is null or ifnull(agent, '') = :agent)
    and (cast(:outcome as text) is null or outcome = :outcome)
    and (cast(:principal as text) is null or principal = :principal)
    and (cast(:since as bigint) is null or called_at >= :since)
    and (cast(:until as bigint) is null or called_at < :until)

-- name: add_audit
insert into audit (
    project_hash, called_at, endpoint, client, agent, principal, tool, verdict, gate, outcome, duration_ms, bytes_in,
    bytes_out, chain
) values (
    :project, :called_at, :endpoint, :client, :agent, :principal, :tool, :verdict, :gate, :outcome, :duration_ms,
    :bytes_in, :bytes_out, :chain
)

-- name: note_delivery
insert into deliveries (id, delivered_at) values (:id, :at) on conflict (id) do nothing returning 1

-- name: forget_deliveries
delete from deliveries where delivered_at < :before

-- name: audit_chain_end
select coalesce(
    (select chain from audit where project_hash = :project order by id desc limit 1),
    (select chain from audit_anchors where project_hash = :project),
    ''
)

-- name: audit_anchor
select chain, entries, until from audit_anchors where project_hash = :project

-- name: audited_projects (every project)
select a.project_hash, coalesce(p.path, '')
from (select distinct project_hash from audit) a left join projects p on p.hash = a.project_hash
order by a.project_hash

-- name: audit_chain
select
    called_at, endpoint, client, agent, principal, tool, verdict, gate, outcome, duration_ms, bytes_in, bytes_out,
    chain, id
from audit
where project_hash = :project and id > :after
    and (cast(:since as bigint) is null or called_at >= :since)
    and (cast(:until as bigint) is null or called_at < :until)
order by id
limit :most

-- name: audit
select
    called_at, endpoint, client, agent, principal, tool, verdict, gate, outcome, duration_ms, bytes_in, bytes_out
from audit
where {selected_calls}
order by called_at desc, id desc
limit :limit offset :offset

-- name: audit_span
select count(*), min(called_at), max(called_at) from audit where {selected_calls}

-- name: audit_agents
select distinct agent from audit
where project_hash = :project and agent is not null and (cast(:principal as text) is null or principal = :principal)
order by agent
limit 100

-- name: audit_application_tools
select distinct tool, client from audit
where project_hash = :project and endpoint = client and tool not like 'mcp\_\_%' escape '\'
order by tool
limit 1000

-- name: audit_bars
select
    called_at - called_at % :step as start,
    count(*),
    count(*) filter (where outcome in ('failed', 'error', 'unreachable')),
    count(*) filter (where outcome = 'refused')
from audit
where {selected_calls}
group by start
order by start

-- name: old_audit (every project unless one is given)
select p.hash, -- with its first entry, the first to keep by age, its last, and the last one beyond the newest
    (select a.id from audit a where a.project_hash = p.hash order by a.id limit 1),
    (select a.id from audit a where a.project_hash = p.hash and a.called_at >= :before order by a.id limit 1),
    (select a.id from audit a where a.project_hash = p.hash order by a.id desc limit 1),
    (select a.id from audit a where a.project_hash = p.hash order by a.id desc limit 1 offset :most)
from projects p
where cast(:project as text) is null or p.hash = :project
order by p.hash

-- name: anchor_audit
insert into audit_anchors (project_hash, chain, entries, until)
select
    a.project_hash, a.chain, (select count(*) from audit o where o.project_hash = :project and o.id < :first), a.called_at
from audit a where a.project_hash = :project and a.id < :first order by a.id desc limit 1
on conflict (project_hash) do update set
    chain = excluded.chain, entries = audit_anchors.entries + excluded.entries, until = excluded.until

-- name: count_audit
select count(*) from audit where project_hash = :project and id < :first

-- name: prune_audit
delete from audit where project_hash = :project and id < :first
