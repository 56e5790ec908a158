-- The danger level from a tool's annotations; null without hints. Existing definitions are rated here by the
-- same rule.
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

-- Approval of a single call: for one principal, one definition of a tool and one set of arguments.
create table approvals (
    id text primary key,
    project_hash text not null references projects (hash) on delete cascade,
    principal text not null,
    tool text not null,
    definition text not null, -- a digest, like the next column
    arguments text not null,
    shown text not null, -- the arguments for display, without secrets; empty once answered
    reason text not null, -- why approval is needed
    requested_at integer not null,
    expires_at integer not null,
    answered_at integer,
    is_approved integer,
    used_at integer,
    check ((answered_at is null) = (is_approved is null)),
    check (used_at is null or is_approved = 1)
) strict, without rowid;
create index approvals_by_project on approvals (project_hash, tool);
