-- Named queries for pins: which definitions were accepted, and which were not.

-- name: pins_of_server
select t.name, p.definition_id, p.entry, p.verdict, a.pin, c.pin, p.changed_id
from pins p
join tools t on t.id = p.tool_id
left join definitions a on a.id = p.definition_id
left join definitions c on c.id = p.changed_id
where (t.server_id = :server_id or t.id = :server_id) and {in_scope}

-- name: listed_entry
select t.listed_digest from tools t where t.id = :server_id and {in_scope}

-- name: earlier_tool_of_plugin
select 1 from tools t join tools s on s.id = t.server_id
where s.plugin = :plugin and s.client = :client and t.kind = 'mcp_tool' and t.authority = 3 and t.id < :server_id
    and {in_scope}
limit 1

-- name: definitions_by_id
select d.id, d.name, d.server, d.tool, d.title, d.description, d.input_schema, d.output_schema, d.annotations, d.raw
from definitions d where d.id in (select cast(value as bigint) from json_each(:ids))

-- name: definitions_beside
select d.name, d.server, d.tool, d.title, d.description, d.input_schema, d.output_schema, d.annotations, d.raw
from tools t
join definitions d on d.id = t.definition_id
where {in_scope} and t.client = :client and t.kind = 'mcp_tool' and t.authority = 3 and t.is_unlisted = 0
    and t.server is distinct from :server

-- name: accept_definition
insert into pins (tool_id, definition_id, accepted_by, accepted_at, entry, is_news)
values (:tool, :definition, :by, :at, :entry, :is_news)
on conflict (tool_id) do update set
    definition_id = excluded.definition_id, accepted_by = excluded.accepted_by, accepted_at = excluded.accepted_at,
    entry = excluded.entry, is_news = excluded.is_news,
    changed_id = null, verdict = null, reason = null, detail = null, changed_at = null

-- name: hold_definition
insert into pins (tool_id, entry, changed_id, verdict, reason, detail, changed_at, is_news)
values (:tool, :entry, :definition, :verdict, :reason, :detail, :at, 1)
on conflict (tool_id) do update set
    entry = excluded.entry, changed_id = excluded.changed_id, verdict = excluded.verdict, reason = excluded.reason,
    detail = excluded.detail, changed_at = excluded.changed_at, is_news = 1

-- name: unchange_definition
update pins set changed_id = null, verdict = null, reason = null, detail = null, changed_at = null,
    is_news = 0, entry = :entry, definition_id = :definition
where tool_id = :tool

-- name: follow_change
update pins set changed_id = :definition, entry = :entry where tool_id = :tool

-- name: changed_definitions
select
    t.client, t.kind, t.scope, t.project_hash, t.dir, t.agent, t.server, t.name,
    p.verdict, p.reason, p.detail, p.changed_at, p.accepted_by, p.accepted_at, p.is_news, p.definition_id, p.changed_id
from pins p
join tools t on t.id = p.tool_id
join tools s on s.id = ifnull(t.server_id, t.id)
where {in_scope} and (p.verdict is not null or p.is_news = 1) and t.is_unlisted = 0
order by t.server nulls first, t.name

-- name: pin_row
select p.tool_id, p.entry, p.changed_id from pins p join tools t on t.id = p.tool_id
where {in_scope} and t.client = :client and t.kind = :kind and t.scope = :scope and t.project_hash is not distinct from :project_hash
    and t.dir is not distinct from :dir and t.agent is not distinct from :agent and t.server is not distinct from :server and t.name = :name

-- name: reject_definition
update pins set verdict = 'rejected', reason = :reason, detail = :detail, is_news = 0
where tool_id = :tool and changed_id = :definition

-- name: report_changes
update pins set is_news = 0
where is_news = 1 and tool_id in (select t.id from tools t where {in_scope})

-- name: known_definitions (every project)
select digest, id, pin from definitions
where digest in (select value from json_each(:digests)) and pin is not null
