-- Named queries for scans: views, declarations and what became of them, and the last valid content of files.

-- fragment: this_view
v.client = :client and v.workspace = :workspace and v.flags = :flags and v.project_hash = :project

-- fragment: declaration
t.client, t.kind, t.scope, t.project_hash, t.dir, t.agent, t.server, t.name, t.plugin

-- name: see_view
insert into views (client, workspace, flags, project_hash, scanned_at, inputs, permissions, problems, facts)
values (:client, :workspace, :flags, :project, :at, :inputs, :permissions, :problems, :facts)
on conflict (client, workspace, flags) do update set
    project_hash = excluded.project_hash, scanned_at = excluded.scanned_at, inputs = excluded.inputs,
    permissions = excluded.permissions, problems = excluded.problems, facts = excluded.facts
returning id

-- name: view
select v.inputs, v.permissions, v.problems, v.facts from views v where {this_view}

-- name: inputs
select v.inputs from views v where {this_view}

-- name: permissions
select v.client, v.permissions, v.facts from views v
where v.workspace = :workspace and v.flags = :flags and v.project_hash = :project

-- name: resolved
select
    {declaration}, r.source, t.description, t.profile, r.digest, t.endpoint, r.status, r.shadows,
    t.id, r.shadowed_by, t.source = r.source and t.digest is not distinct from r.digest
from tools t
join resolutions r on r.tool_id = t.id
join views v on v.id = r.view_id
where {this_view} and {in_scope}
order by t.id

-- name: last_declared
select
    {declaration}, t.source, t.description, t.profile, t.digest, t.endpoint, r.status, r.shadows,
    max(v.project_hash = :project) -- of several views, one of this project counts
from tools t
join resolutions r on r.tool_id = t.id and r.source = t.source
join views v on v.id = r.view_id
where t.client = :client and t.server_id is null and {in_scope}
    and t.source in (select value from json_each(:sources))
group by t.id
order by t.id

-- name: forget_resolutions
delete from resolutions where view_id = :view

-- name: add_resolution
insert into resolutions (view_id, tool_id, source, digest, status, shadows, shadowed_by)
values (:view, :tool, :source, :digest, :status, :shadows, :shadowed_by)

-- name: declare
insert into tools (
    client, kind, scope, project_hash, dir, agent, server, name, plugin, source, description, tokens, profile, endpoint,
    digest, seen_at
) values (
    :client, :kind, :scope, :project_hash, :dir, :agent, :server, :name, :plugin, :source, :description, :tokens,
    :profile, :endpoint, :digest, :at
)
on conflict (
    client, kind, scope, ifnull(project_hash, ''), ifnull(dir, ''), ifnull(agent, ''), ifnull(server, ''), name
)
do update set
    plugin = excluded.plugin, source = excluded.source, description = excluded.description, tokens = excluded.tokens,
    profile = excluded.profile, endpoint = excluded.endpoint, digest = excluded.digest
returning id

-- name: files
select source, project_hash, fingerprint, content from files
where reader = :reader and source in (select value from json_each(:sources))
    and (project_hash is null or project_hash = :project or project_hash = :group)
order by project_hash is not null

-- name: keep_file (every project)
insert into files (reader, source, project_hash, fingerprint, content)
values (:reader, :source, :project_hash, :fingerprint, :content)
on conflict (source, reader, ifnull(project_hash, '')) do update set
    fingerprint = excluded.fingerprint, content = excluded.content
where files.fingerprint <> excluded.fingerprint or files.content <> excluded.content
