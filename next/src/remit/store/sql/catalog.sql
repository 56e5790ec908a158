-- Named queries for tools in scope. A name in braces inserts a fragment; `{in_scope}` is the only SQL form of the
-- scope rule. A query over all projects is marked.

-- fragment: in_scope
((t.scope in ('global', 'managed') and :group = '')
 or (t.scope in ('local', 'dynamic') and :group = '' and t.project_hash = :project)
 or (t.scope = 'project' and t.project_hash = :project
     and (:group <> '' or t.dir in (select value from json_each(:reach))))
 or (t.scope = 'group' and t.project_hash = :group)
 or (t.scope = 'plugin' and :group = '' and (t.project_hash is null or t.project_hash = :project)))

-- fragment: key
t.client, t.kind, t.scope, t.project_hash, t.dir, t.agent, t.server, t.name

-- fragment: has_key
t.client = :client and t.kind = :kind and t.scope = :scope
    and t.project_hash is not distinct from :project_hash and t.dir is not distinct from :dir
    and t.agent is not distinct from :agent and t.server is not distinct from :server and t.name = :name

-- fragment: entry
iif(r.view_id is null, s.digest, r.digest)

-- fragment: catalog_rows
with here (id, client) as materialized (
    select id, client from views
    where workspace = :workspace and project_hash = :project and flags = :flags
)
select
    t.id, t.server_id, {key}, s.plugin,
    ifnull(r.source, t.source), iif(t.server_id is null, r.status, iif(t.is_unlisted, 'unlisted', r.status)),
    w.scope, wr.source, ifnull(w.server, w.name), k.digest, {entry}, s.listed_digest,
    iif(t.server_id is null, t.description, d.description), t.profile, d.danger, ifnull(d.tokens, t.tokens), d.digest,
    iif(s.listed_digest is {entry}, s.listed_at, null), iif(s.failed_digest is {entry}, s.failure, null),
    v.id is not null, d.pin, d.findings, a.pin, a.digest, p.entry, p.accepted_by, p.accepted_at,
    a.danger
from tools t
join tools s on s.id = ifnull(t.server_id, t.id)
left join here v on v.client = t.client
left join resolutions r on r.view_id = v.id and r.tool_id = s.id
left join tools w on w.id = r.shadowed_by
left join resolutions wr on wr.view_id = v.id and wr.tool_id = r.shadowed_by
left join trust k on k.tool_id = s.id
left join definitions d on d.id = t.definition_id
left join pins p on p.tool_id = t.id
left join definitions a on a.id = p.definition_id
where {in_scope}

-- name: catalog
{catalog_rows}
order by t.id

-- name: catalog_named
{catalog_rows} and t.name in (select value from json_each(:names))
order by t.id

-- name: seen
select r.client, r.name, r.authority, d.description, d.digest, d.tokens
from reports r
left join definitions d on d.id = r.definition_id
where r.project_hash = :project
order by r.client, r.name

-- name: definitions
select d.digest, d.name, d.server, d.tool, d.description, d.raw
from definitions d
where d.digest in (select value from json_each(:digests))
    and (exists (select 1 from tools t where t.definition_id = d.id and {in_scope})
         or exists (select 1 from pins p join tools t on t.id = p.tool_id where p.definition_id = d.id and {in_scope})
         or exists (select 1 from reports r where r.definition_id = d.id and r.project_hash = :project))

-- name: declared_elsewhere (every project)
select distinct p.path, p.hash
from tools t
join projects p on p.hash = t.project_hash
where (t.name = :name or t.server = :name) and t.project_hash <> :project
    and exists (select 1 from resolutions r where r.tool_id = ifnull(t.server_id, t.id))
order by p.path

-- name: revision
select number from revisions where part = :part

-- name: raise_revision
update revisions set number = number + 1 where part = :part

-- name: see_project
insert into projects (hash, path, seen_at) values (:project, :path, :at)
on conflict (hash) do update set path = excluded.path, seen_at = excluded.seen_at
where projects.path <> excluded.path or excluded.seen_at > projects.seen_at + 3600000

-- name: projects (every project)
select path, hash from projects order by path

-- name: forget_project
delete from projects where hash = :project

-- name: forget_unused_definitions (every project)
delete from definitions
where not exists (select 1 from tools t where t.definition_id = definitions.id)
    and not exists (select 1 from pins p where p.definition_id = definitions.id)
    and not exists (select 1 from reports r where r.definition_id = definitions.id)
