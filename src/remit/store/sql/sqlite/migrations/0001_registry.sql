pragma application_id = 0x52656d69;

create table projects (
    hash text primary key,
    path text not null,
    seen_at integer not null
) strict;

-- The definition of a tool, stored once by content for all projects.
create table definitions (
    id integer primary key,
    digest text not null unique,
    server text,
    name text not null,
    tool text, -- the server's own name for it
    title text,
    description text,
    input_schema text,
    output_schema text,
    annotations text,
    tokens integer not null -- estimated cost of sending it
) strict;

-- The checks rule out rows that could leak: every row of a project names its project.
-- A tool that was seen or reported points to its server once a configuration declares the server.
create table tools (
    id integer primary key,
    client text not null,
    kind text not null,
    scope text not null check (scope in ('managed', 'dynamic', 'local', 'project', 'global', 'plugin')),
    project_hash text references projects (hash) on delete cascade,
    dir text,
    server text,
    name text not null,
    plugin text,
    agent text, -- the agent that declares this server
    profile text, -- of a subagent, as JSON
    server_id integer references tools (id) on delete cascade,
    source text not null,
    authority integer not null check (authority in (1, 2, 3)),
    endpoint text,
    digest text,
    is_remit integer not null default 0,
    own_status text,
    definition_id integer references definitions (id),
    is_unlisted integer not null default 0, -- its server did not list this tool the last time
    listed_at integer, -- of a server: time, launch digest and protocol version of the last listing
    listed_digest text,
    protocol_version text,
    failure text, -- of a server: why the last listing failed, and the launch digest at that time
    failed_digest text,
    discovered_at integer not null,
    updated_at integer not null,
    check (scope not in ('managed', 'global') or project_hash is null),
    check (scope not in ('dynamic', 'local', 'project') or project_hash is not null),
    check ((scope = 'project') = (dir is not null))
) strict;

create unique index tools_identity on tools (
    client, kind, scope, ifnull(project_hash, ''), ifnull(dir, ''), ifnull(agent, ''), ifnull(server, ''), name
);
create index tools_by_name on tools (name, client);
create index tools_loose on tools (client) where authority < 3;
create index tools_by_project on tools (project_hash);
create index tools_by_definition on tools (definition_id) where definition_id is not null;
create index tools_by_server on tools (server_id) where server_id is not null;

-- The user trusts a project's server to be started, until its entry changes.
create table trust (
    tool_id integer primary key references tools (id) on delete cascade,
    digest text not null,
    trusted_at integer not null
) strict;

-- The projects that have seen a tool, each with its own definition, which is not shown in other projects.
create table sightings (
    tool_id integer not null references tools (id) on delete cascade,
    project_hash text not null references projects (hash) on delete cascade,
    definition_id integer references definitions (id),
    primary key (tool_id, project_hash)
) strict, without rowid;
create index sightings_by_project on sightings (project_hash);
create index sightings_by_definition on sightings (definition_id) where definition_id is not null;

-- One client's configuration as one workspace sees it: the same row may be active here and shadowed there.
create table views (
    id integer primary key,
    client text not null,
    workspace text not null,
    flags text not null, -- launch flags of the client; empty for the default
    project_hash text not null references projects (hash) on delete cascade,
    scanned_at integer not null,
    unique (client, workspace, flags)
) strict;
create index views_by_project on views (project_hash);

create table resolutions (
    view_id integer not null references views (id) on delete cascade,
    tool_id integer not null references tools (id) on delete cascade,
    source text not null,
    digest text, -- at the time the view was read: the row may have been read for another view since
    config_status text not null,
    shadowed_by integer references tools (id) on delete set null,
    primary key (view_id, tool_id)
) strict, without rowid;
create index resolutions_by_tool on resolutions (tool_id);
create index resolutions_by_winner on resolutions (shadowed_by) where shadowed_by is not null;

-- The rules of a project's settings files, which still apply while their file is invalid.
create table rules (
    client text not null,
    project_hash text not null references projects (hash) on delete cascade,
    source text not null,
    level text not null,
    effect text not null,
    subject text not null,
    primary key (client, project_hash, source, level, effect, subject)
) strict, without rowid;
create index rules_by_project on rules (project_hash);

-- Every file and variable that a scan read, so the next command knows whether to scan again.
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

create table usage_events (
    id integer primary key,
    tool_id integer not null references tools (id) on delete cascade,
    client text not null,
    project_hash text not null references projects (hash) on delete cascade,
    session_id text,
    call_id text,
    succeeded integer,
    duration_ms integer,
    used_at integer not null
) strict;
create index usage_events_by_tool on usage_events (tool_id, used_at);
create index usage_events_by_project on usage_events (project_hash, used_at);
create index usage_events_by_call on usage_events (call_id) where call_id is not null;

-- Totals outlive their events: pruning deletes only events. `outcomes` lists the last five known outcomes, `+`
-- for success and `-` for failure, the most recently known at the end.
create table usage_totals (
    tool_id integer not null references tools (id) on delete cascade,
    project_hash text not null references projects (hash) on delete cascade,
    uses integer not null,
    failures integer not null,
    last_used_at integer not null,
    outcomes text not null default '',
    primary key (tool_id, project_hash)
) strict, without rowid;
create index usage_totals_by_project on usage_totals (project_hash);

create trigger usage_counted after insert on usage_events begin
    insert into usage_totals (tool_id, project_hash, uses, failures, last_used_at, outcomes)
    values (
        new.tool_id, new.project_hash, 1, new.succeeded is 0, new.used_at,
        case new.succeeded when 0 then '-' when 1 then '+' else '' end
    )
    on conflict (tool_id, project_hash) do update set
        uses = uses + 1,
        failures = failures + (new.succeeded is 0),
        last_used_at = max(last_used_at, new.used_at),
        outcomes = substr(outcomes || excluded.outcomes, -5);
end;

create trigger usage_outcome_learned after update of succeeded on usage_events
when old.succeeded is null and new.succeeded is not null begin
    update usage_totals set
        failures = failures + (new.succeeded is 0),
        outcomes = substr(outcomes || iif(new.succeeded, '+', '-'), -5)
    where tool_id = new.tool_id and project_hash = new.project_hash;
end;
