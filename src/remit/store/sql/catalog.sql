-- Named queries for the catalog, projects and definitions. A name in braces inserts a fragment; `{in_scope}` is the only SQL form of the scope rule.

-- fragment: in_scope
((t.scope in ('global', 'managed') and :team = '')
 or (t.scope in ('local', 'dynamic') and t.project_hash = :project)
 or (t.scope = 'project' and t.project_hash = :project and t.dir in (select value from json_each(:reach)))
 or (t.scope = 'team' and t.project_hash = :team)
 or (t.scope = 'plugin' and (t.project_hash is null and :team = '' or t.project_hash = :project)))

-- fragment: known_here
({in_scope} and (
    -- What only a use or a report told of is known where it was seen; a client has its own tools everywhere.
    t.authority = 3 or t.kind = 'builtin'
    or exists (select 1 from sightings y where y.tool_id = t.id and y.project_hash = :project)
))

-- name: catalog
with here (id, client) as materialized (
    select id, client from views
    where workspace = :workspace and project_hash = :project and flags = :flags
),
used (tool_id, uses, last_used_at, outcomes) as (
    select owner, sum(uses), max(last_used_at), max(outcomes)
    from (
        select tool_id as owner, uses, last_used_at, outcomes
        from usage_totals where project_hash = :project
        union all
        select o.server_id, u.uses, u.last_used_at, ''
        from usage_totals u join tools o on o.id = u.tool_id
        where o.server_id is not null and u.project_hash = :project
    )
    group by owner
)
select
    t.name, t.kind, t.client, t.scope, t.project_hash, t.dir, t.server, s.plugin, t.agent, t.profile,
    ifnull(r.source, t.source), t.authority, r.config_status, w.scope, wr.source,
    d.description, ifnull(u.uses, 0), u.last_used_at, t.discovered_at, t.updated_at, t.endpoint, d.tokens,
    ifnull(u.outcomes, ''), t.digest, t.is_unlisted, s.listed_at, s.listed_digest <> s.digest, k.digest,
    iif(t.failed_digest = t.digest, t.failure, null), ifnull(d.document_id, t.document_id), d.danger,
    t.server_id is not null, v.id is not null, ifnull(w.server, w.name),
    d.described, a.danger, p.verdict, p.reason, p.detail, d.pin, s.digest
from tools t
join tools s on s.id = ifnull(t.server_id, t.id)
left join trust k on k.tool_id = s.id
left join here v on v.client = t.client
left join resolutions r on r.view_id = v.id and r.tool_id = ifnull(t.server_id, t.id)
left join tools w on w.id = r.shadowed_by
left join resolutions wr on wr.view_id = v.id and wr.tool_id = r.shadowed_by
left join sightings x on x.tool_id = t.id and x.project_hash = :project
left join definitions d on d.id = ifnull(t.definition_id, x.definition_id)
left join used u on u.tool_id = t.id
left join pins p indexed by pins_changed on p.tool_id = t.id and p.verdict is not null
left join definitions a on a.id = p.definition_id
where {known_here}
order by t.id

-- name: catalog_revision
select number from revisions where part = 'catalog'

-- name: uses_here
select t.client, t.kind, t.scope, t.project_hash, t.dir, t.agent, t.server, t.name, u.uses, u.last_used_at
from usage_totals u join tools t on t.id = u.tool_id
where u.project_hash = :project and {in_scope}

-- name: definitions_of
select
    t.client, t.kind, t.scope, t.project_hash, t.dir, t.agent, t.server, t.name,
    d.name, d.server, d.tool, d.title, d.description, d.input_schema, d.output_schema, d.annotations,
    d.raw
from tools t
left join sightings x on x.tool_id = t.id and x.project_hash = :project
join definitions d on d.id = ifnull(t.definition_id, x.definition_id)
where {in_scope} and t.name in (select value from json_each(:names))

-- name: reported_definition
select t.authority, d.description, d.input_schema
from tools t
left join sightings x on x.tool_id = t.id and x.project_hash = :project
left join definitions d on d.id = x.definition_id
where t.id = :tool and {in_scope}

-- name: define (every project)
insert into definitions (
    digest, server, name, tool, title, description, input_schema, output_schema, annotations, raw, danger, described,
    pin, tokens
) values (
    :digest, :server, :name, :tool, :title, :description, :input_schema, :output_schema, :annotations, :raw, :danger,
    :described, :pin, :tokens
)
on conflict (digest) do update set pin = excluded.pin, described = excluded.described

-- name: attach_definition
update sightings set definition_id = :definition
where tool_id = :tool and project_hash = :project

-- name: see_project
insert into projects (hash, path, seen_at) values (:project, :path, :at)
on conflict (hash) do update set seen_at = max(projects.seen_at, excluded.seen_at)

-- name: project_by_hash_or_path (every project)
select hash, path from projects where hash = :name or path = :name limit 1

-- name: all_projects (every project)
select hash, path from projects order by path

-- name: forget_project
delete from projects where hash = :project

-- name: forget_unseen_tools (every project)
delete from tools
where (server_id is not null or authority < 3) and definition_id is null
    and not exists (select 1 from sightings x where x.tool_id = tools.id)

-- name: forget_unused_definitions (every project)
delete from definitions
where not exists (select 1 from sightings x where x.definition_id = definitions.id)
    and not exists (select 1 from tools t where t.definition_id = definitions.id)
    and not exists (select 1 from pins p where p.definition_id = definitions.id)
    and not exists (select 1 from pins p where p.changed_id = definitions.id)

-- name: schema_facts
select user_version, null from pragma_user_version
