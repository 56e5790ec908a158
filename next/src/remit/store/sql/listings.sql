-- Named queries for the lists of servers, and definitions by content.

-- name: row_of_key
select t.id from tools t
where t.client = :client and t.kind = :kind and t.scope = :scope
    and t.project_hash is not distinct from :project_hash and t.dir is not distinct from :dir
    and t.agent is not distinct from :agent and t.server is not distinct from :server and t.name = :name and {in_scope}

-- name: known_definitions
select digest, id from definitions where digest in (select value from json_each(:digests))

-- name: define
insert into definitions (digest, name, server, tool, description, raw, danger, tokens)
values (:digest, :name, :server, :tool, :description, :raw, :danger, :tokens)
on conflict (digest) do nothing

-- name: list_tool
insert into tools (
    client, kind, scope, project_hash, dir, agent, server, name, plugin, source, server_id, definition_id
) values (
    :client, 'mcp_tool', :scope, :project_hash, :dir, :agent, :server, :name, :plugin, :source, :server_id, :definition
)
on conflict (
    client, kind, scope, ifnull(project_hash, ''), ifnull(dir, ''), ifnull(agent, ''), ifnull(server, ''), name
)
do update set
    plugin = excluded.plugin, source = excluded.source, server_id = excluded.server_id,
    definition_id = excluded.definition_id, is_unlisted = 0

-- name: tools_of_server
select t.name, t.definition_id, t.is_unlisted from tools t where t.server_id = :server_id and {in_scope}

-- name: mark_unlisted
update tools set is_unlisted = 1
where server_id = :server_id and is_unlisted = 0 and name not in (select value from json_each(:listed))

-- name: mark_listed
update tools set
    listed_at = :at, listed_digest = :digest, protocol_version = :protocol_version, failure = null
where id = :server_id

-- name: mark_failed
update tools set failure = :reason, failed_digest = :digest where id = :server_id
