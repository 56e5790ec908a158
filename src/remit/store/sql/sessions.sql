-- Named queries for sessions: usage reports and suggestions.

-- name: session_states
select states from sessions where client = :client and session_id = :session_id and project_hash = :project

-- name: hourly_uses
select t.client, t.kind, t.scope, ifnull(t.dir, ''), t.name, e.used_at / 3600000, count(*), count(*) filter (where e.succeeded = 0)
from usage_events e
join tools t on t.id = e.tool_id
where e.project_hash = :project and {in_scope}
    and e.used_at > (select max(used_at) from usage_events where project_hash = :project) - :reach_back
group by t.id, e.used_at / 3600000
order by t.id, e.used_at / 3600000

-- name: calls_here
select session_id, name, used_at from (
    select e.id, e.session_id, t.name, e.used_at
    from usage_events e
    join tools t on t.id = e.tool_id
    where e.project_hash = :project and e.client = :client and e.session_id is not null and {in_scope}
    order by e.used_at desc, e.id desc
    limit :most
)
order by used_at, id

-- name: calls_everywhere (every project)
select session_id, name, used_at from (
    select e.id, e.session_id, o.name, e.used_at
    from usage_events e
    join tools o on o.id = e.tool_id
    where e.client = :client and e.session_id is not null
        -- From other projects, only names that also exist here.
        and o.name in (select t.name from tools t where t.client = :client and {known_here})
    order by e.used_at desc, e.id desc
    limit :most
)
order by used_at, id

-- name: calls_of_session
select e.session_id, t.name, e.used_at
from usage_events e
join tools t on t.id = e.tool_id
where e.session_id = :session_id and e.project_hash = :project and e.client = :client and {in_scope}
order by e.used_at, e.id

-- name: suggestions_made
select
    s.session_id, s.tool, s.suggested_at,
    exists (
        select 1 from usage_events e join tools t on t.id = e.tool_id
        where t.name = s.tool and {in_scope} and e.project_hash = :project and e.used_at >= s.suggested_at
    )
from suggestions s
where s.project_hash = :project and s.client = :client
order by s.suggested_at, s.id

-- name: add_suggestion
insert into suggestions (client, session_id, project_hash, tool, cause, suggested_at)
values (:client, :session_id, :project, :tool, :cause, :at)

-- name: sessions_here
select
    ifnull(s.session_id, e.session_id), ifnull(s.started_at, e.first_at), s.ended_at, ifnull(e.calls, 0),
    ifnull(e.failures, 0), ifnull(e.tools, 0)
from (
    select session_id, min(used_at) as first_at, count(*) as calls, count(*) filter (where succeeded = 0) as failures,
        count(distinct tool_id) as tools
    from usage_events
    where project_hash = :project and client = :client and session_id is not null
    group by session_id
) e
full join (select * from sessions where project_hash = :project and client = :client) s on s.session_id = e.session_id
order by 2 desc, 1
limit :most

-- name: totals_here
select t.client, t.kind, t.scope, ifnull(t.dir, ''), t.name, u.uses, u.failures, u.last_used_at
from usage_totals u
join tools t on t.id = u.tool_id
where u.project_hash = :project and {in_scope}

-- name: durations_here
select t.client, t.kind, t.scope, ifnull(t.dir, ''), t.name, avg(e.duration_ms)
from usage_events e
join tools t on t.id = e.tool_id
where e.project_hash = :project and e.duration_ms is not null and {in_scope}
group by t.id

-- name: totals_by_project (every project)
select p.path, p.hash, sum(u.uses), sum(u.failures), max(u.last_used_at), count(*),
    (select count(*) from sessions s where s.project_hash = p.hash)
from usage_totals u
join projects p on p.hash = u.project_hash
group by p.hash
order by 3 desc, 1
