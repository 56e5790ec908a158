-- Named queries for uses and reports of names, and for the answers that hooks keep.

-- fragment: is_use
calls.outcome in ('done', 'failed', 'error', 'cancelled')

-- name: uses_of_names
select client, name, uses, last_used_at, outcomes from uses where project_hash = :project

-- name: count_use
insert into uses (project_hash, client, name, uses, failures, last_used_at, outcomes)
values (:project, :client, :name, 1, :outcome = '-', :at, :outcome)
on conflict (project_hash, client, name) do update set
    uses = uses + 1, failures = failures + excluded.failures, last_used_at = max(last_used_at, excluded.last_used_at),
    outcomes = substr(outcomes || excluded.outcomes, -5)

-- name: declared_names
select distinct t.client, t.name from tools t
where t.name in (select value from json_each(:names)) and {in_scope}
union
select client, name from reports
where project_hash = :project and name in (select value from json_each(:names))

-- name: see_name
insert into reports (project_hash, client, name, authority, reported_at)
values (:project, :client, :name, 1, :at)
on conflict do nothing

-- name: report
insert into reports (project_hash, client, name, authority, definition_id, reported_at)
values (:project, :client, :name, :authority, (select id from definitions where digest = :definition), :at)
on conflict (project_hash, client, name) do update set
    authority = excluded.authority, definition_id = ifnull(excluded.definition_id, reports.definition_id),
    reported_at = excluded.reported_at
where excluded.authority >= reports.authority

-- name: totals
select client, name, uses, failures, last_used_at,
    (select avg(duration_ms) from calls c
     where c.project_hash = :project and c.client = uses.client and c.tool = uses.name and c.outcome = 'done')
from uses where project_hash = :project

-- name: first_seen
select t.client, t.name, min(t.seen_at) from tools t where {in_scope} group by t.client, t.name

-- name: hourly_uses
select client, tool, called_at / 3600000, count(*), count(*) filter (where outcome in ('failed', 'error'))
from calls
where project_hash = :project and {is_use}
    and called_at > (select max(called_at) from calls where project_hash = :project) - :reach_back
group by 1, 2, 3
order by 1, 2, 3

-- name: sessions
select
    session, client, min(called_at), max(called_at), count(*), count(*) filter (where outcome in ('failed', 'error')),
    count(distinct tool)
from calls
where project_hash = :project and session is not null and {is_use}
group by session, client
order by 3 desc, 1
limit :most

-- name: kept_answer
select 1 from kept_answers
where workspace = :workspace and client = :client and launch = :launch and tool = :tool and server = :server
    and source = :source and subject = :subject and agent = :agent and mode = :mode and project_hash = :project
    and version = :version and revision = (select number from revisions where part = 'catalog')

-- name: kept_stamps
select i.key, i.value from views v, json_each(v.inputs) i
where v.client = :client and v.workspace = :workspace and v.flags = :launch and v.project_hash = :project
union all
select i.key, i.value from configurations c, json_each(c.inputs) i
where c.workspace = :workspace and c.project_hash = :project

-- name: keep_answer (every project)
insert into kept_answers (
    workspace, client, launch, tool, server, source, subject, agent, mode, project_hash, version, revision
) values (
    :workspace, :client, :launch, :tool, :server, :source, :subject, :agent, :mode, :project, :version, :revision
)
on conflict do update set
    project_hash = excluded.project_hash, version = excluded.version, revision = excluded.revision

-- name: forget_old_answers (every project)
delete from kept_answers where revision <> :revision
