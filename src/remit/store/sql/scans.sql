-- Named queries for scans: views, their inputs and problems, resolutions, rules and declarations.

-- name: see_view (every project)
insert into views (client, workspace, flags, project_hash, scanned_at, permissions)
values (:client, :workspace, :flags, :project, :at, :permissions)
on conflict (client, workspace, flags) do update set
    project_hash = excluded.project_hash, scanned_at = excluded.scanned_at, permissions = excluded.permissions
returning id

-- name: permissions
select v.permissions from views v
where v.client = :client and v.workspace = :workspace and v.flags = :flags and v.project_hash = :project

-- name: inputs
select i.name, i.fingerprint
from inputs i join views v on v.id = i.view_id
where v.client = :client and v.workspace = :workspace and v.flags = :flags and v.project_hash = :project

-- name: problems
select p.source, p.place, p.reason
from problems p join views v on v.id = p.view_id
where v.client = :client and v.workspace = :workspace and v.flags = :flags and v.project_hash = :project
order by p.id

-- name: resolved
select
    t.name, t.kind, t.client, t.scope, r.source, t.project_hash, t.dir, t.server, t.plugin, t.agent, t.profile,
    t.endpoint, r.digest, t.is_remit, t.own_status, d.description, t.id, r.config_status, r.shadowed_by,
    t.source = r.source and t.digest is not distinct from r.digest
from tools t
join resolutions r on r.tool_id = t.id
join views v on v.id = r.view_id
left join definitions d on d.id = t.definition_id
where v.client = :client and v.workspace = :workspace and v.flags = :flags and v.project_hash = :project and {in_scope}
order by t.id

-- name: last_known (every project)
select
    t.name, t.kind, t.client, t.scope, t.source, t.project_hash, t.dir, t.server, t.plugin, t.agent, t.profile,
    t.endpoint, t.digest, t.is_remit, t.own_status, d.description,
    ifnull(
        (
            select max(iif(r.config_status = 'denied', 1, 0))
            from resolutions r join views v on v.id = r.view_id
            where r.tool_id = t.id and v.project_hash = :project
        ),
        (select max(iif(r.config_status = 'denied', 1, 0)) from resolutions r where r.tool_id = t.id)
    )
from tools t
left join definitions d on d.id = t.definition_id
where t.client = :client and t.authority = 3 and t.server_id is null and {in_scope}
    and (
        t.source in (select value from json_each(:sources))
        or t.scope in (select value from json_each(:scopes))
    )
    and exists (select 1 from resolutions r where r.tool_id = t.id and r.source = t.source)
order by t.id

-- name: last_rules (every project)
select r.source, r.level, r.effect, r.subject
from rules r
where r.client = :client and r.source in (select value from json_each(:sources))
    and r.project_hash = (
        select o.project_hash
        from rules o join projects p on p.hash = o.project_hash
        where o.client = r.client and o.source = r.source
            -- User and managed rules apply everywhere, including projects that were never scanned.
            and (o.project_hash = :project or o.level in ('user', 'managed'))
        order by o.project_hash = :project desc, p.seen_at desc
        limit 1
    )

-- name: forget_inputs
delete from inputs where view_id = :view

-- name: forget_problems
delete from problems where view_id = :view

-- name: forget_resolutions
delete from resolutions where view_id = :view

-- name: forget_rules
delete from rules
where client = :client and project_hash = :project and source in (select value from json_each(:sources))

-- name: add_input
insert into inputs (view_id, name, fingerprint) values (:view, :name, :fingerprint)

-- name: add_problem
insert into problems (view_id, source, place, reason) values (:view, :source, :place, :reason)

-- name: add_rule
insert into rules (client, project_hash, source, level, effect, subject)
values (:client, :project, :source, :level, :effect, :subject)
on conflict do nothing

-- name: add_resolution
insert into resolutions (view_id, tool_id, source, digest, config_status, shadowed_by)
values (:view, :tool, :source, :digest, :config_status, :shadowed_by)

-- name: is_resolved
select 1
from resolutions r join views v on v.id = r.view_id
where v.client = :client and v.workspace = :workspace and v.flags = :flags and v.project_hash = :project
    and r.source = :source
limit 1

-- name: declare
insert into tools (
    client, kind, scope, project_hash, dir, agent, server, name, plugin, profile, source, authority,
    endpoint, digest, is_remit, own_status, definition_id, discovered_at, updated_at
) values (
    :client, :kind, :scope, :project_hash, :dir, :agent, :server, :name, :plugin, :profile, :source, 3,
    :endpoint, :digest, :is_remit, :own_status, :definition, :at, :at
)
on conflict (
    client, kind, scope, ifnull(project_hash, ''), ifnull(dir, ''), ifnull(agent, ''), ifnull(server, ''), name
)
do update set
    source = excluded.source, authority = 3, plugin = excluded.plugin, profile = excluded.profile, endpoint = excluded.endpoint,
    digest = excluded.digest, is_remit = excluded.is_remit, own_status = excluded.own_status,
    definition_id = excluded.definition_id, updated_at = excluded.updated_at
returning id
