-- Named queries for servers: their listings, their other offers, and trust.

-- name: mark_listed
update tools set
    listed_at = :at, listed_digest = :digest, protocol_version = :protocol_version, failure = null
where id = :server_id

-- name: mark_failed
update tools set failure = :reason, failed_digest = :digest where id = :server_id

-- name: mark_unlisted
update tools set is_unlisted = 1, updated_at = :at
where server_id = :server_id and kind = 'mcp_tool' and is_unlisted = 0
    and id not in (select cast(value as bigint) from json_each(:listed))

-- fragment: json_listed
select value ->> 'tool' as tool, value ->> 'definition' as definition from json_each(:listed)

-- name: list_tools
update tools set
    definition_id = g.definition, is_unlisted = 0,
    updated_at = iif(tools.definition_id is not distinct from g.definition, tools.updated_at, :at)
from ({json_listed}) g
where tools.id = g.tool and (tools.definition_id is distinct from g.definition or tools.is_unlisted = 1)

-- name: tools_of_server
select t.name, t.id, iif(t.is_unlisted = 1, null, t.definition_id)
from tools t
where t.server_id = :server_id and t.kind = :kind and t.client = :client and t.scope = :scope
    and t.project_hash is not distinct from :project_hash and t.dir is not distinct from :dir
    and t.agent is not distinct from :agent and t.server is not distinct from :server
    and t.source = :source and t.authority = :authority and {in_scope}

-- name: trusts
select t.client, t.kind, t.scope, t.project_hash, t.dir, t.agent, t.server, t.name, k.digest
from trust k join tools t on t.id = k.tool_id
where {in_scope}

-- name: trusted_sandboxes
select t.client, t.kind, t.scope, t.project_hash, t.dir, t.agent, t.server, t.name, k.sandbox
from trust k join tools t on t.id = k.tool_id
where k.sandbox is not null and {in_scope}

-- name: changed_trusts
select distinct t.client, r.source, t.server
from trust k
join tools t on t.id = k.tool_id
join resolutions r on r.tool_id = t.id and r.config_status is not null
join views v on v.id = r.view_id and v.workspace = :workspace and v.project_hash = :project
where k.digest <> t.digest and {in_scope}
order by r.source, t.server

-- name: trusted_entries
select t.client, t.kind, t.scope, t.project_hash, t.dir, t.agent, t.server, t.name, k.entry
from trust k join tools t on t.id = k.tool_id
where k.entry is not null and {in_scope}

-- name: trust
insert into trust (tool_id, digest, sandbox, entry, trusted_at) values (:tool, :digest, :sandbox, :entry, :at)
on conflict (tool_id) do update
set digest = excluded.digest, sandbox = excluded.sandbox, entry = excluded.entry, trusted_at = excluded.trusted_at

-- name: revoke
delete from trust where tool_id = :tool

-- name: keep_server_extras
insert into wares (
    tool_id, digest, resources, templates, prompts, capabilities, instructions, listed_at
) values (:server_id, :digest, :resources, :templates, :prompts, :capabilities, :instructions, :at)
on conflict (tool_id) do update set
    digest = excluded.digest, resources = excluded.resources, templates = excluded.templates,
    prompts = excluded.prompts, capabilities = excluded.capabilities, instructions = excluded.instructions,
    listed_at = excluded.listed_at

-- name: server_extras
select
    t.client, t.kind, t.scope, t.project_hash, t.dir, t.agent, t.server, t.name,
    w.resources, w.templates, w.prompts, w.capabilities, w.instructions
from tools t
join wares w on w.tool_id = t.id and w.digest is not distinct from t.digest
where {in_scope}
