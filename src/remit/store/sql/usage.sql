-- Named queries for usage: rows of tools, calls and traces.

-- name: active_server
select t.scope, t.project_hash, t.dir, t.server, t.id, r.source
from tools t
join resolutions r on r.tool_id = t.id
join views v on v.id = r.view_id
where v.client = :client and v.workspace = :workspace and v.flags = '' and v.project_hash = :project and {in_scope}
    and t.kind = 'mcp_server' and t.agent is null
    and substr(:name, 1, length(t.name) - 1) = substr(t.name, 1, length(t.name) - 1)
    and (cast(:server as text) is null or t.server = :server)
    and iif(
        cast(:scope as text) is not null, t.scope = :scope, -- the client tells which declaration it started
        r.shadowed_by is null and r.config_status not in ('pending', 'rejected')
        -- Sessions without a terminal start pending servers, and agents start their own: the tool may belong to
        -- one of those.
        and not exists (
            select 1 from resolutions p join tools o on o.id = p.tool_id
            where p.view_id = v.id and (p.config_status = 'pending' or o.agent is not null) and o.name = t.name
                and (cast(:server as text) is null or o.server = :server)
        )
    )
order by length(t.name) desc, t.server = :parsed desc nulls last, r.shadowed_by is null desc,
    length(t.dir) desc nulls last, t.id
limit 1

-- name: row_of_key
select t.id from tools t
where t.client = :client and t.kind = :kind and t.scope = :scope and t.project_hash is not distinct from :project_hash
    and t.dir is not distinct from :dir and t.agent is not distinct from :agent and t.server is not distinct from :server and t.name = :name and {in_scope}

-- name: server_of_key
select t.id, t.source from tools t
where t.client = :client and t.kind = 'mcp_server' and t.scope = :scope and t.project_hash is not distinct from :project_hash
    and t.dir is not distinct from :dir and t.agent is not distinct from :agent and t.server is not distinct from :server and t.authority = 3 and {in_scope}
    and substr(:name, 1, length(t.name) - 1) = substr(t.name, 1, length(t.name) - 1)
order by length(t.name) desc
limit 1

-- name: declared_server
select 1 from tools t
where t.client = :client and t.kind = 'mcp_server' and t.server = :server and t.authority = 3 and {in_scope}
limit 1

-- name: started_tool
select t.id
from tools t
join resolutions r on r.tool_id = t.id
join views v on v.id = r.view_id
where v.client = :client and v.workspace = :workspace and v.flags = '' and v.project_hash = :project and {in_scope}
    and t.name in (select value from json_each(:names)) and t.kind in (select value from json_each(:kinds))
    and r.shadowed_by is null
order by t.id
limit 1

-- name: undeclared_tools
select t.id, t.name, t.server, t.authority, t.scope
from tools t
where t.client = :client and t.authority < 3 and t.server_id is null and {in_scope}
    and (t.dir is null or t.dir = :workspace)
order by t.authority desc, t.id

-- name: undeclared_tools_of_name
select t.id, t.name, t.server, t.authority, t.scope
from tools t
where t.name = :name and t.client = :client and t.authority < 3 and t.server_id is null and {in_scope}
    and (t.dir is null or t.dir = :workspace)
order by t.authority desc, t.id

-- fragment: added_tool
insert into tools (
    client, kind, scope, project_hash, dir, agent, server, name, server_id, source, authority, discovered_at, updated_at
) values (
    :client, :kind, :scope, :project_hash, :dir, :agent, :server, :name, :server_id, :source, :authority, :at, :at
)
on conflict (
    client, kind, scope, ifnull(project_hash, ''), ifnull(dir, ''), ifnull(agent, ''), ifnull(server, ''), name
)
do update set
    server_id = ifnull(excluded.server_id, tools.server_id),
    source = iif(excluded.authority >= tools.authority, excluded.source, tools.source),
    authority = max(tools.authority, excluded.authority)

-- name: add_tool
{added_tool}
returning id

-- name: add_tools
{added_tool}

-- name: add_sighting
insert into sightings (tool_id, project_hash) values (:tool, :project)
on conflict do nothing

-- name: move_events
update usage_events set tool_id = :into where tool_id = :tool

-- name: move_totals
insert into usage_totals (tool_id, project_hash, uses, failures, last_used_at, outcomes)
select :into, project_hash, uses, failures, last_used_at, outcomes from usage_totals where tool_id = :tool
on conflict (tool_id, project_hash) do update set
    uses = usage_totals.uses + excluded.uses,
    failures = usage_totals.failures + excluded.failures,
    outcomes = substr(
        iif(
            usage_totals.last_used_at > excluded.last_used_at,
            excluded.outcomes || usage_totals.outcomes,
            usage_totals.outcomes || excluded.outcomes
        ), -5
    ),
    last_used_at = max(usage_totals.last_used_at, excluded.last_used_at)

-- name: move_sightings
insert into sightings (tool_id, project_hash, definition_id)
select :into, project_hash, definition_id from sightings where tool_id = :tool
on conflict (tool_id, project_hash) do update set definition_id = ifnull(sightings.definition_id, excluded.definition_id)

-- name: move_history
update tools set discovered_at = min(discovered_at, (select o.discovered_at from tools o where o.id = :tool))
where id = :into

-- name: drop_tool
delete from tools where id = :tool

-- name: recorded_call
select id, succeeded, session_id from usage_events
where call_id = :call_id and client = :client and project_hash = :project
    and (session_id is null or cast(:session_id as text) is null or session_id = :session_id)
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

-- name: report_call
insert into reported_calls (project_hash, client, call_id, session_id, told_at)
values (:project, :client, :call_id, :session_id, :at)
on conflict do nothing

-- name: take_report
delete from reported_calls where project_hash = :project and client = :client and call_id = :call_id
returning session_id

-- name: count_old_events (every project)
select count(*) from usage_events where used_at < :before

-- name: prune_events (every project)
delete from usage_events where used_at < :before

-- name: add_trace
insert into traces (project_hash, sort, subject, verb, times, session_id, left_at, is_news)
values (:project, :sort, :subject, :verb, 1, :session_id, :at, 1)
on conflict (project_hash, sort, subject) do update set
    times = iif(
        traces.session_id is not distinct from excluded.session_id and (:in_a_row = 0 or traces.verb = excluded.verb),
        traces.times + 1, 1
    ),
    verb = excluded.verb, session_id = excluded.session_id, left_at = excluded.left_at, is_news = 1

-- name: change_trace
update traces set verb = :verb, session_id = :session_id, left_at = :at, is_news = 1
where project_hash = :project and sort = :sort and subject = :subject and verb <> :verb

-- name: new_traces
select id, sort, subject, verb, times, left_at, artifact from traces
where project_hash = :project and is_news = 1
order by left_at, id
