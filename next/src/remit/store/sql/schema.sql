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
    pin text, -- digest of what counts in it; null: only a report told of it
    danger integer check (danger between 0 and 4), -- that its annotations or parameters state
    tokens integer not null, -- estimated cost of sending it
    findings text, -- of the inspection, as JSON
    inspector text -- the version that inspected it
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
    tokens integer, -- of what no server lists: estimated cost of its line
    profile text, -- of a subagent, as JSON
    endpoint text,
    digest text, -- of what the entry starts
    server_id integer references tools (id) on delete cascade,
    definition_id integer references definitions (id), -- of a server, its instructions
    seen_at integer not null, -- for the first time
    is_unlisted integer not null default 0, -- its server did not list it the last time
    listed_at integer, -- of a server: time and entry of the last listing
    listed_digest text,
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

create table pins ( -- accepted definitions
    tool_id integer primary key references tools (id) on delete cascade,
    definition_id integer not null references definitions (id),
    entry text, -- digest of the server's entry that listed it
    accepted_by text not null,
    accepted_at integer not null
) strict;
create index pins_by_definition on pins (definition_id);

create table offers ( -- what servers offer besides tools
    server_id integer primary key references tools (id) on delete cascade,
    digest text, -- of its entry, at the time of the listing
    content text not null -- as JSON
) strict;

create table views ( -- one client's files as one workspace sees them
    id integer primary key,
    client text not null,
    workspace text not null,
    flags text not null, -- launch flags of the client; empty for the default
    project_hash text not null references projects (hash) on delete cascade,
    scanned_at integer not null,
    inputs text not null, -- each file or variable that was read, with its fingerprint, as JSON
    permissions text not null, -- the client's own rules, as JSON, like the next two
    problems text not null,
    facts text not null, -- what else the reading says
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

create table files ( -- last valid content: it stays in force while its file is invalid
    reader text not null, -- a client, or `remit`
    source text not null,
    project_hash text references projects (hash) on delete cascade, -- null: it says the same in every project
    fingerprint text not null,
    content text not null -- as JSON, in the form of its reader
) strict;
create unique index files_identity on files (source, reader, ifnull(project_hash, ''));
create index files_by_project on files (project_hash) where project_hash is not null;

create table trust ( -- entries that the user trusts
    tool_id integer primary key references tools (id) on delete cascade,
    digest text not null,
    entry text not null, -- what people read of it, without secrets
    trusted_at integer not null
) strict;

create table trusted_parts ( -- parts of a project's configuration that the user lets run or permit something
    project_hash text not null references projects (hash) on delete cascade,
    source text not null,
    subject text not null,
    digest text not null,
    trusted_at integer not null,
    primary key (project_hash, source, subject)
) strict, without rowid;

create table approvals (
    id text primary key,
    project_hash text not null references projects (hash) on delete cascade,
    caller text not null,
    tool text not null,
    definition text not null, -- a digest, like the next
    arguments text not null,
    shown text not null, -- the arguments for people; empty once answered or expired
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

create table configurations ( -- Remit's own, compiled for a workspace
    workspace text primary key,
    project_hash text not null references projects (hash) on delete cascade,
    inputs text not null, -- each file with its fingerprint, as JSON
    content text not null -- rules and states, as JSON
) strict, without rowid;
create index configurations_by_project on configurations (project_hash);

create table workflow_states ( -- that are set; all others are false
    project_hash text not null references projects (hash) on delete cascade,
    name text not null,
    set_at integer not null,
    set_by text not null, -- the tool whose success set it; empty: a person
    primary key (project_hash, name)
) strict, without rowid;

create table pushed_states ( -- by a host application
    project_hash text not null references projects (hash) on delete cascade,
    name text not null,
    value text not null, -- as JSON
    pushed_at integer not null,
    until integer not null,
    primary key (project_hash, name)
) strict, without rowid;

create table observations ( -- results of detectors
    workspace text not null,
    name text not null,
    project_hash text not null references projects (hash) on delete cascade,
    mark text not null, -- digest of the detector and what it looks at
    truth integer,
    reason text not null,
    amount integer, -- if the detector counts
    observed_at integer not null,
    until integer not null,
    claimed_until integer not null, -- a process is detecting it again
    primary key (workspace, name)
) strict, without rowid;
create index observations_by_project on observations (project_hash);

create table uses ( -- of names
    project_hash text not null references projects (hash) on delete cascade,
    client text not null,
    name text not null,
    uses integer not null,
    failures integer not null,
    last_used_at integer not null,
    outcomes text not null, -- of the last five, `+` or `-`, oldest first
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
create index reports_by_definition on reports (definition_id) where definition_id is not null;

create table kept_answers ( -- calls about which a hook has nothing to say
    workspace text not null,
    client text not null,
    launch text not null, -- launch flags of the client
    tool text not null,
    server text not null,
    source text not null,
    subject text not null,
    agent text not null,
    mode text not null,
    project_hash text not null references projects (hash) on delete cascade,
    version text not null, -- of Remit
    revision integer not null,
    primary key (workspace, client, tool, server, source, subject, agent, mode, launch)
) strict, without rowid;
create index kept_answers_by_project on kept_answers (project_hash);

create table calls ( -- the log
    id integer primary key autoincrement, -- in the order of arrival, whatever the clock says
    project_hash text not null references projects (hash) on delete cascade,
    called_at integer not null,
    endpoint text not null,
    client text not null,
    agent text,
    caller text,
    tool text not null,
    verdict text not null,
    gate text,
    outcome text not null,
    duration_ms integer not null,
    bytes_in integer not null,
    bytes_out integer not null,
    session text,
    call_id text -- the client's
) strict;
create index calls_by_project on calls (project_hash, called_at);
create index calls_by_tool on calls (project_hash, client, tool);
create index calls_in_order on calls (project_hash, id);
create unique index calls_by_call_id on calls (project_hash, client, call_id) where call_id is not null;

create table memory_projects (
    id integer primary key autoincrement, -- never reused, like the ids of places and artifacts
    owner text not null references projects (hash) on delete cascade on update cascade,
    project_id text not null,
    created_at integer not null,
    unique (owner, project_id)
) strict;

create table places ( -- where artifacts are: a project, or a focus in it
    id integer primary key autoincrement,
    memory_project integer not null references memory_projects (id) on delete cascade,
    focus text not null, -- empty: the project
    unique (memory_project, focus)
) strict;

create table artifacts (
    id integer primary key autoincrement, -- a vector may arrive after its artifact is gone
    key text not null unique,
    place_id integer not null references places (id) on delete cascade,
    kind text not null check (kind in ('session', 'decision', 'pattern', 'context', 'entity')),
    name text not null, -- searchable text, like the next
    body text not null,
    subject text not null, -- facts about one entity share it
    fingerprint text not null, -- of its content
    content text not null, -- as JSON
    is_live integer not null default 1, -- 0: another artifact replaces it
    is_embedded integer not null default 0,
    dated_at integer not null, -- when it was last confirmed
    created_at integer not null,
    updated_at integer not null,
    -- The words by which search filters by place and kind; a replaced artifact has none.
    terms text generated always as (
        iif(is_live, 'p' || place_id || ' p' || place_id || kind, '')
    ) virtual
) strict;
create index artifacts_by_place on artifacts (place_id, kind, created_at, is_live);
create index artifacts_by_fingerprint on artifacts (place_id, fingerprint);
create unique index artifacts_by_entity on artifacts (place_id, subject) where kind = 'entity';
create index artifacts_unread on artifacts (id) where is_embedded = 0 and is_live = 1;

create table relations (
    source_id integer not null references artifacts (id) on delete cascade,
    relation text not null,
    target_id integer not null references artifacts (id) on delete cascade,
    properties text not null, -- as JSON
    primary key (source_id, relation, target_id)
) strict, without rowid;
create index relations_by_target on relations (target_id);

create table artifact_vectors (
    artifact_id integer primary key references artifacts (id) on delete cascade,
    model text not null,
    vector blob not null -- 32-bit floats
) strict;
create index artifact_vectors_by_model on artifact_vectors (model, length(vector));

create table artifact_codes ( -- the signs of vectors, side by side for each place
    place_id integer not null references places (id) on delete cascade,
    kind text not null,
    artifact_id integer not null references artifacts (id) on delete cascade,
    code blob not null,
    primary key (place_id, kind, artifact_id)
) strict, without rowid;
create index artifact_codes_by_artifact on artifact_codes (artifact_id);

create view live_artifacts as select id, terms, name, body from artifacts where is_live;
create virtual table artifacts_by_word using fts5 (
    terms, name, body, content = 'live_artifacts', content_rowid = 'id', tokenize = 'porter unicode61'
);
insert into artifacts_by_word (artifacts_by_word, rank) values ('secure-delete', 1);

create trigger artifact_added after insert on artifacts when new.is_live begin
    insert into artifacts_by_word (rowid, terms, name, body) values (new.id, new.terms, new.name, new.body);
end;
create trigger artifact_removed after delete on artifacts when old.is_live begin
    insert into artifacts_by_word (artifacts_by_word, rowid, terms, name, body)
    values ('delete', old.id, old.terms, old.name, old.body);
end;
create trigger artifact_changed after update of name, body, is_live on artifacts begin
    insert into artifacts_by_word (artifacts_by_word, rowid, terms, name, body)
    select 'delete', old.id, old.terms, old.name, old.body where old.is_live;
    insert into artifacts_by_word (rowid, terms, name, body)
    select new.id, new.terms, new.name, new.body where new.is_live;
    delete from artifact_vectors where artifact_id = new.id;
    delete from artifact_codes where artifact_id = new.id;
end;

create table vectors ( -- of tools, by the content of their documents
    model text not null,
    digest text not null,
    vector blob not null, -- 32-bit floats
    primary key (model, digest)
) strict, without rowid;
