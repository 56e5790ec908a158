-- Named queries for tools in scope. A name in braces inserts a fragment; `{in_scope}` is the only SQL form of the scope rule.

-- fragment: in_scope
((t.scope in ('global', 'managed') and :group = '')
 or (t.scope in ('local', 'dynamic') and :group = '' and t.project_hash = :project)
 or (t.scope = 'project' and t.project_hash = :project
     and (:group <> '' or t.dir in (select value from json_each(:reach))))
 or (t.scope = 'group' and t.project_hash = :group)
 or (t.scope = 'plugin' and :group = '' and (t.project_hash is null or t.project_hash = :project)))

-- name: catalog
with here (id, client) as materialized (
    select id, client from views
    where workspace = :workspace and project_hash = :project and flags = :flags
)
select
    t.client, t.kind, t.scope, t.project_hash, t.dir, t.agent, t.server, t.name, s.plugin,
    ifnull(r.source, t.source), iif(t.server_id is null, r.status, iif(t.is_unlisted, 'unlisted', r.status)),
    w.scope, wr.source, ifnull(w.server, w.name), k.digest, s.digest,
    ifnull(d.description, t.description), t.profile, d.danger, d.tokens, d.digest,
    iif(s.listed_digest is s.digest, s.listed_at, null), iif(s.failed_digest is s.digest, s.failure, null),
    u.uses, u.last_used_at, u.outcomes, v.id is not null
from tools t
join tools s on s.id = ifnull(t.server_id, t.id)
left join here v on v.client = t.client
left join resolutions r on r.view_id = v.id and r.tool_id = s.id
left join tools w on w.id = r.shadowed_by
left join resolutions wr on wr.view_id = v.id and wr.tool_id = r.shadowed_by
left join trust k on k.tool_id = s.id
left join definitions d on d.id = t.definition_id
left join uses u on u.project_hash = :project and u.client = t.client and u.name = t.name
where {in_scope}
order by t.id

-- name: seen
select r.client, r.name, r.authority, d.description, d.digest, d.tokens, u.uses, u.last_used_at, u.outcomes
from reports r
left join definitions d on d.id = r.definition_id
left join uses u on u.project_hash = r.project_hash and u.client = r.client and u.name = r.name
where r.project_hash = :project
order by r.client, r.name

-- name: definitions
select distinct d.digest, d.name, d.server, d.tool, d.description, d.raw
from definitions d
where d.digest in (select value from json_each(:digests))
    and (exists (select 1 from tools t where t.definition_id = d.id and {in_scope})
         or exists (select 1 from reports r where r.definition_id = d.id and r.project_hash = :project))

-- name: revision
select number from revisions where part = :part

-- name: raise_revision
update revisions set number = number + 1 where part = :part

-- name: see_project
insert into projects (hash, path, seen_at) values (:project, :path, :at)
on conflict (hash) do update set seen_at = max(projects.seen_at, excluded.seen_at)

-- name: projects
select hash, path from projects order by path
