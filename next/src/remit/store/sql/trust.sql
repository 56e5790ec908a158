-- Named queries for what the user trusts: entries of servers, parts of a project's configuration, definitions.

-- name: trusted_entries
select {key}, k.digest, k.entry, k.trusted_at
from trust k join tools t on t.id = k.tool_id
where {in_scope}

-- name: trust_entry
insert into trust (tool_id, digest, entry, trusted_at)
select t.id, :digest, :entry, :at from tools t where {has_key} and {in_scope}
on conflict (tool_id) do update
set digest = excluded.digest, entry = excluded.entry, trusted_at = excluded.trusted_at

-- name: revoke_entry
delete from trust where tool_id in (select t.id from tools t where {has_key} and {in_scope})

-- name: trusted_parts
select source, subject, digest from trusted_parts where project_hash = :project

-- name: trust_part
insert into trusted_parts (project_hash, source, subject, digest, trusted_at)
values (:project, :source, :subject, :digest, :at)
on conflict (project_hash, source, subject) do update
set digest = excluded.digest, trusted_at = excluded.trusted_at

-- name: revoke_part
delete from trusted_parts where project_hash = :project and source = :source and subject = :subject

-- name: accept_definition
insert into pins (tool_id, definition_id, entry, accepted_by, accepted_at)
select t.id, d.id, s.digest, :by, :at
from tools t
join tools s on s.id = ifnull(t.server_id, t.id)
join definitions d on d.id = t.definition_id
where {has_key} and d.digest = :definition and {in_scope}
on conflict (tool_id) do update set
    definition_id = excluded.definition_id, entry = excluded.entry, accepted_by = excluded.accepted_by,
    accepted_at = excluded.accepted_at
