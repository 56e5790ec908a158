-- Named queries. `{in_scope}` stands for the fragment below, the one place of the scope rule in SQL.

-- fragment: in_scope
(t.scope in ('global', 'managed')
 or (t.scope = 'local' and t.project_hash = :project)
 or (t.scope = 'project' and t.project_hash = :project and t.dir in (select value from json_each(:reach)))
 or (t.scope = 'plugin' and (t.project_hash is null or t.project_hash = :project)))

-- name: catalog
with here (id, client) as materialized (
    select id, client from views where workspace = :workspace and project_hash = :project
),
used (tool_id, uses, last_used_at) as (
    select owner, sum(uses), max(last_used_at)
    from (
        select tool_id as owner, uses, last_used_at from usage_totals
        union all
        select o.server_id, u.uses, u.last_used_at
        from usage_totals u join tools o on o.id = u.tool_id
        where o.server_id is not null
    )
    group by owner
)
select
    t.name, t.kind, t.client, t.scope, t.project_hash, t.dir, t.server,
    ifnull(s.source, t.source), t.authority, iif(s.status = 'stale', s.status, t.status),
    r.config_status, w.scope, w.source,
    d.description, ifnull(u.uses, 0), u.last_used_at, t.discovered_at, t.updated_at
from tools t
left join tools s on s.id = t.server_id
left join here v on v.client = t.client
left join resolutions r on r.view_id = v.id and r.tool_id = ifnull(t.server_id, t.id)
left join tools w on w.id = r.shadowed_by
left join definitions d on d.id = t.definition_id
left join used u on u.tool_id = t.id
where {in_scope}
order by t.id

-- name: see_project
insert into projects (hash, path, seen_at) values (:hash, :path, :at)
on conflict (hash) do update set seen_at = max(seen_at, excluded.seen_at)

-- name: see_view
insert into views (client, workspace, project_hash, scanned_at) values (:client, :workspace, :project, :at)
on conflict (client, workspace) do update set
    project_hash = excluded.project_hash, scanned_at = excluded.scanned_at
returning id

-- name: inputs
select i.name, i.fingerprint
from inputs i join views v on v.id = i.view_id
where v.client = :client and v.workspace = :workspace and v.project_hash = :project

-- name: problems
select p.source, p.place, p.reason
from problems p join views v on v.id = p.view_id
where v.client = :client and v.workspace = :workspace and v.project_hash = :project
order by p.id

-- name: forget_inputs
delete from inputs where view_id = :view

-- name: forget_problems
delete from problems where view_id = :view

-- name: forget_resolutions
delete from resolutions where view_id = :view

-- name: add_input
insert into inputs (view_id, name, fingerprint) values (:view, :name, :fingerprint)

-- name: add_problem
insert into problems (view_id, source, place, reason) values (:view, :source, :place, :reason)

-- name: add_resolution
insert into resolutions (view_id, tool_id, config_status, shadowed_by)
values (:view, :tool, :config_status, :shadowed_by)

-- name: declared
select
    t.id, t.name, t.kind, t.scope, t.source, t.project_hash, t.dir, t.server, t.digest, t.status,
    r.config_status, r.shadowed_by
from tools t
left join views v on v.client = t.client and v.workspace = :workspace
left join resolutions r on r.view_id = v.id and r.tool_id = t.id
where t.client = :client and t.authority = 3 and t.server_id is null and {in_scope}
order by t.id

-- name: declare
insert into tools (
    client, kind, scope, project_hash, dir, server, name, source, authority, digest, discovered_at, updated_at
) values (:client, :kind, :scope, :project_hash, :dir, :server, :name, :source, 3, :digest, :at, :at)
on conflict (client, kind, scope, ifnull(project_hash, ''), ifnull(dir, ''), ifnull(server, ''), name)
do update set
    source = excluded.source, authority = 3, status = 'active',
    digest = excluded.digest, updated_at = excluded.updated_at
returning id

-- name: mark_stale
update tools set status = 'stale', updated_at = :at where id = :tool

-- name: server_for
select t.id, t.scope, t.project_hash, t.dir, t.server, t.source
from tools t
left join views v on v.client = t.client and v.workspace = :workspace
left join resolutions r on r.view_id = v.id and r.tool_id = t.id
where t.client = :client and t.kind = 'mcp_server' and t.authority = 3 and t.status = 'active'
    and substr(:name, 1, length(t.name) - 1) = substr(t.name, 1, length(t.name) - 1)
    and (:server is null or t.server = :server)
    and {in_scope}
order by
    length(t.name) desc,
    (r.config_status in ('enabled', 'itself') and r.shadowed_by is null) desc,
    case t.scope when 'managed' then 0 when 'local' then 1 when 'project' then 2 else 3 end,
    length(t.dir) desc
limit 1

-- name: loose
select t.id, t.authority, t.project_hash
from tools t left join tools s on s.id = t.server_id
where t.client = :client and t.kind = :kind and t.name = :name
    and (s.id is null or s.status = 'stale') and {in_scope}
order by t.authority desc, t.id

-- name: all_loose
select t.id, t.kind, t.name, t.server, t.project_hash, t.dir
from tools t left join tools s on s.id = t.server_id
where t.client = :client and t.kind in ('mcp_tool', 'mcp_server')
    and (t.authority < 3 or s.status = 'stale')

-- name: sight
insert into tools (
    client, kind, scope, project_hash, dir, server, name, server_id, source, authority, discovered_at, updated_at
) values (:client, :kind, :scope, :project_hash, :dir, :server, :name, :server_id, :source, :authority, :at, :at)
on conflict (client, kind, scope, ifnull(project_hash, ''), ifnull(dir, ''), ifnull(server, ''), name)
do update set
    server_id = ifnull(excluded.server_id, server_id),
    source = iif(excluded.authority >= authority, excluded.source, source),
    authority = max(authority, excluded.authority)
returning id

-- name: move_events
update usage_events set tool_id = :into where tool_id = :tool

-- name: move_totals
insert into usage_totals (tool_id, project_hash, uses, failures, last_used_at)
select :into, project_hash, uses, failures, last_used_at from usage_totals where tool_id = :tool
on conflict (tool_id, project_hash) do update set
    uses = uses + excluded.uses,
    failures = failures + excluded.failures,
    last_used_at = max(last_used_at, excluded.last_used_at)

-- name: move_history
update tools set
    definition_id = ifnull(definition_id, (select o.definition_id from tools o where o.id = :tool)),
    discovered_at = min(discovered_at, (select o.discovered_at from tools o where o.id = :tool))
where id = :into

-- name: drop_tool
delete from tools where id = :tool

-- name: earlier_report
select id from usage_events
where call_id = :call_id and client = :client and project_hash = :project
    and (session_id is null or :session_id is null or session_id = :session_id)
limit 1

-- name: complete_event
update usage_events set
    session_id = ifnull(session_id, :session_id),
    succeeded = ifnull(succeeded, :succeeded),
    duration_ms = ifnull(duration_ms, :duration_ms)
where id = :event

-- name: add_event
insert into usage_events (
    tool_id, client, project_hash, session_id, call_id, succeeded, duration_ms, used_at
) values (:tool, :client, :project, :session_id, :call_id, :succeeded, :duration_ms, :at)

-- name: prune_events
delete from usage_events where used_at < :before

-- name: define
insert into definitions (digest, server, name, description, input_schema)
values (:digest, :server, :name, :description, :input_schema)
on conflict (digest) do nothing

-- name: attach_definition
update tools set
    definition_id = (select id from definitions where digest = :digest), updated_at = :at
where id = :tool

-- name: project_by_hash_or_path
select hash, path from projects where hash = :name or path = :name limit 1

-- name: forget_project
delete from projects where hash = :project

-- name: forget_unused_sightings
delete from tools
where authority = 1 and project_hash is null
    and not exists (select 1 from usage_totals u where u.tool_id = tools.id)

-- name: forget_unused_definitions
delete from definitions where not exists (select 1 from tools t where t.definition_id = definitions.id)
