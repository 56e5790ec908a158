pragma application_id = 0x52656d69;
pragma user_version = 1;

create table revisions (part text primary key, number integer not null) strict, without rowid;
insert into revisions (part, number) values ('catalog', 0), ('states', 0);

create table projects (
    hash text primary key,
    path text not null,
    seen_at integer not null
) strict, without rowid;

create table definitions ( -- stored once by content
    id integer primary key,
    digest text not null unique,
    name text not null,
    server text,
    tool text, -- the server's own name for it
    description text,
    raw text not null, -- as received
    danger integer check (danger between 0 and 4), -- that its annotations or parameters state
    tokens integer not null -- estimated cost of sending it
) strict;

create table tools ( -- declared entries of files, and the tools that their servers list
    id integer primary key,
    client text not null,
    kind text not null,
    scope text not null,
    project_hash text references projects (hash) on delete cascade,
    dir text,
    agent text,
    server text,
    name text not null,
    plugin text,
    source text not null,
    description text,
    profile text, -- of a subagent, as JSON
    endpoint text,
    digest text, -- of what the entry starts
    server_id integer references tools (id) on delete cascade,
    definition_id integer references definitions (id),
    is_unlisted integer not null default 0, -- its server did not list it the last time
    listed_at integer, -- of a server: time and entry of the last listing
    listed_digest text,
    protocol_version text,
    failure text, -- of a server: why the last listing failed, and the entry at that time
    failed_digest text,
    check (scope in ('managed', 'dynamic', 'local', 'project', 'group', 'global', 'plugin')),
    check (scope not in ('managed', 'global') or project_hash is null),
    check (scope not in ('dynamic', 'local', 'project', 'group') or project_hash is not null),
    check ((scope = 'project') = (dir is not null))
) strict;
create unique index tools_identity on tools (
    client, kind, scope, ifnull(project_hash, ''), ifnull(dir, ''), ifnull(agent, ''), ifnull(server, ''), name
);
create index tools_by_name on tools (name, client);
create index tools_by_project on tools (project_hash);
create index tools_by_definition on tools (definition_id) where definition_id is not null;
create index tools_by_server on tools (server_id) where server_id is not null;

create table views ( -- one client's files as one workspace sees them
    id integer primary key,
    client text not null,
    workspace text not null,
    flags text not null, -- launch flags of the client; empty for the default
    project_hash text not null references projects (hash) on delete cascade,
    scanned_at integer not null,
    permissions text not null, -- the client's own rules, as JSON
    facts text not null default '{}', -- what else the reading says, as JSON
    unique (client, workspace, flags)
) strict;
create index views_by_project on views (project_hash);

create table resolutions ( -- what became of each declaration in a view
    view_id integer not null references views (id) on delete cascade,
    tool_id integer not null references tools (id) on delete cascade,
    source text not null,
    digest text, -- at the time the view was read: the row may have been read for another view since
    status text not null,
    shadows integer not null,
    shadowed_by integer references tools (id) on delete set null,
    primary key (view_id, tool_id)
) strict, without rowid;
create index resolutions_by_tool on resolutions (tool_id);
create index resolutions_by_winner on resolutions (shadowed_by) where shadowed_by is not null;

create table inputs (
    view_id integer not null references views (id) on delete cascade,
    name text not null,
    fingerprint text not null,
    primary key (view_id, name)
) strict, without rowid;

create table problems (
    id integer primary key,
    view_id integer not null references views (id) on delete cascade,
    source text not null,
    place text not null,
    reason text not null
) strict;
create index problems_by_view on problems (view_id);

create table trust ( -- entries that the user trusts
    tool_id integer primary key references tools (id) on delete cascade,
    digest text not null,
    entry text, -- what people read of it, without secrets
    trusted_at integer not null
) strict;

create table uses ( -- of names
    project_hash text not null references projects (hash) on delete cascade,
    client text not null,
    name text not null,
    uses integer not null,
    failures integer not null,
    last_used_at integer not null,
    outcomes text not null,
    primary key (project_hash, client, name)
) strict, without rowid;

create table reports ( -- names that a hook or an agent told of
    project_hash text not null references projects (hash) on delete cascade,
    client text not null,
    name text not null,
    authority integer not null check (authority in (1, 2)),
    definition_id integer references definitions (id),
    reported_at integer not null,
    primary key (project_hash, client, name)
) strict, without rowid;
