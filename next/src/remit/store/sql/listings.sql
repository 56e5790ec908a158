-- Named queries for the lists of servers, and definitions by content.

-- name: server_of_key
select t.id, t.listed_digest, t.failure, t.failed_digest, d.digest, o.digest, o.content
from tools t
left join definitions d on d.id = t.definition_id
left join offers o on o.server_id = t.id
where {has_key} and {in_scope}

-- name: tools_of_server
select t.name, t.id, d.digest, t.is_unlisted
from tools t
left join definitions d on d.id = t.definition_id
where t.server_id = :server_id and {in_scope}

-- name: pins_of_server
select t.name, a.pin, a.digest, p.entry, p.accepted_by, p.accepted_at, a.danger
from pins p
join tools t on t.id = p.tool_id
join definitions a on a.id = p.definition_id
where (t.server_id = :server_id or t.id = :server_id) and {in_scope}

-- name: listed_plugin
select 1 from tools t
where t.plugin = :plugin and t.client = :client and t.kind = 'mcp_server' and t.listed_digest is not null
    and t.seen_at < (select seen_at from tools where id = :server_id) and {in_scope}
limit 1

-- name: known_definitions (every project)
select digest, id, pin, findings, inspector from definitions where digest in (select value from json_each(:digests))

-- name: names_here
select distinct t.kind, t.server, t.name from tools t
where t.kind in ('mcp_server', 'mcp_tool') and t.is_unlisted = 0 and {in_scope}

-- name: define (every project)
insert into definitions (digest, name, server, tool, description, raw, pin, danger, tokens, findings, inspector)
values (:digest, :name, :server, :tool, :description, :raw, :pin, :danger, :tokens, :findings, :inspector)
on conflict (digest) do update set
    pin = ifnull(excluded.pin, pin), findings = iif(excluded.inspector is null, findings, excluded.findings),
    inspector = ifnull(excluded.inspector, inspector)

-- name: list_tool (every project)
insert into tools (
    client, kind, scope, project_hash, dir, agent, server, name, plugin, source, server_id, definition_id, is_unlisted,
    seen_at
) values (
    :client, 'mcp_tool', :scope, :project_hash, :dir, :agent, :server, :name, :plugin, :source, :server_id,
    (select id from definitions where digest = :definition), :is_unlisted, :at
)
on conflict (
    client, kind, scope, ifnull(project_hash, ''), ifnull(dir, ''), ifnull(agent, ''), ifnull(server, ''), name
)
do update set
    plugin = excluded.plugin, source = excluded.source, server_id = excluded.server_id,
    definition_id = excluded.definition_id, is_unlisted = excluded.is_unlisted

-- name: unlist_tool
update tools set is_unlisted = 1 where id = :tool

-- name: pin_listed (every project)
insert into pins (tool_id, definition_id, entry, accepted_by, accepted_at)
select t.id, d.id, :entry, :by, :at
from tools t, definitions d
where (t.server_id = :server_id or t.id = :server_id) and t.name = :name and d.digest = :definition and {in_scope}
on conflict (tool_id) do update set
    definition_id = excluded.definition_id, entry = excluded.entry, accepted_by = excluded.accepted_by,
    accepted_at = excluded.accepted_at

-- name: mark_listed
update tools set
    listed_at = :at, listed_digest = :entry, failure = null,
    definition_id = (select id from definitions where digest = :instructions)
where id = :server_id

-- name: mark_failed
update tools set failure = :reason, failed_digest = :entry where id = :server_id

-- name: keep_offer
insert into offers (server_id, digest, content) values (:server_id, :entry, :content)
on conflict (server_id) do update set digest = excluded.digest, content = excluded.content

-- name: offers
select {key}, o.content
from offers o
join tools t on t.id = o.server_id and t.digest is o.digest
where {in_scope}
