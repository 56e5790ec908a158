-- Named queries for scans: views, their inputs and problems, declarations and what became of them.

-- name: see_view
insert into views (client, workspace, flags, project_hash, scanned_at, permissions, facts)
values (:client, :workspace, :flags, :project, :at, :permissions, :facts)
on conflict (client, workspace, flags) do update set
    project_hash = excluded.project_hash, scanned_at = excluded.scanned_at, permissions = excluded.permissions,
    facts = excluded.facts
returning id

-- name: view
select v.permissions, v.facts, v.scanned_at from views v
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
    t.client, t.kind, t.scope, t.project_hash, t.dir, t.agent, t.server, t.name, t.plugin, r.source, t.description,
    t.profile, r.digest, t.endpoint, r.status, r.shadows, t.id, r.shadowed_by,
    t.source = r.source and t.digest is not distinct from r.digest
from tools t
join resolutions r on r.tool_id = t.id
join views v on v.id = r.view_id
where v.client = :client and v.workspace = :workspace and v.flags = :flags and v.project_hash = :project and {in_scope}
order by t.id

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
insert into resolutions (view_id, tool_id, source, digest, status, shadows, shadowed_by)
values (:view, :tool, :source, :digest, :status, :shadows, :shadowed_by)

-- name: declare
insert into tools (
    client, kind, scope, project_hash, dir, agent, server, name, plugin, source, description, profile, endpoint, digest
) values (
    :client, :kind, :scope, :project_hash, :dir, :agent, :server, :name, :plugin, :source, :description, :profile,
    :endpoint, :digest
)
on conflict (
    client, kind, scope, ifnull(project_hash, ''), ifnull(dir, ''), ifnull(agent, ''), ifnull(server, ''), name
)
do update set
    plugin = excluded.plugin, source = excluded.source, description = excluded.description, profile = excluded.profile,
    endpoint = excluded.endpoint, digest = excluded.digest
returning id
