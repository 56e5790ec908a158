-- Credentials of principals for upstream servers, encrypted by the gateways: the database has no key.
create table credentials (
    principal text collate "C" not null,
    server text collate "C" not null,
    target text collate "C" not null, -- a digest of its URL or command
    project_hash text collate "C", -- of the project that declares the server
    key_id text collate "C" not null,
    sealed text collate "C" not null, -- as base64
    created_at bigint not null,
    unique nulls not distinct (principal, server, project_hash)
);

create trigger credentials_changed after insert or update or delete on credentials
for each row execute function revise('credentials');

-- A principal sees its own rows only, in its project; `remit.principal` comes from the parameters of a query.
create policy scope on credentials using (
    (select everywhere())
    or principal = (select nullif(current_setting('remit.principal', true), ''))
        and (project_hash is null or project_hash = (select here()))
);
alter table credentials enable row level security;
alter table credentials force row level security;
