-- What a server says of a tool's danger, worked out once: null where it says nothing. What was defined before is
-- rated here by the same rule.
alter table definitions add column danger integer check (danger between 0 and 4);

update definitions set danger = case
    when json_type(annotations, '$.readOnlyHint') = 'true'
        then iif(json_type(annotations, '$.openWorldHint') is 'false', 0, 1)
    when json_type(annotations, '$.destructiveHint') = 'false' then 2
    else 3
end
where coalesce(
    json_type(annotations, '$.readOnlyHint'), json_type(annotations, '$.destructiveHint'),
    json_type(annotations, '$.idempotentHint'), json_type(annotations, '$.openWorldHint')
) is not null;

-- A person's word for one call: for this principal, of this tool as it was defined, with these arguments, once.
create table approvals (
    id text primary key,
    project_hash text not null references projects (hash) on delete cascade,
    principal text not null,
    tool text not null,
    definition text not null, -- digests, as is the next
    arguments text not null,
    shown text not null, -- the arguments for a person to read, without secrets; empty once they were judged
    reason text not null, -- why a person is asked
    requested_at integer not null,
    expires_at integer not null,
    answered_at integer,
    is_approved integer,
    used_at integer,
    check ((answered_at is null) = (is_approved is null)),
    check (used_at is null or is_approved = 1)
) strict, without rowid;
create index approvals_by_project on approvals (project_hash, tool);
