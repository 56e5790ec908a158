-- All migrations in one, for a new database; written by `make schema`.
pragma application_id = 0x52656d69;
pragma user_version = 18;
CREATE TABLE projects (
    hash text primary key,
    path text not null,
    seen_at integer not null
) strict;
CREATE TABLE definitions (
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
, document_id integer references documents (id), danger integer check (danger between 0 and 4), raw text, pin text, described text) strict;
CREATE TABLE tools (
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
    updated_at integer not null, document_id integer references documents (id),
    check (scope not in ('managed', 'global') or project_hash is null),
    check (scope not in ('dynamic', 'local', 'project') or project_hash is not null),
    check ((scope = 'project') = (dir is not null))
) strict;
CREATE UNIQUE INDEX tools_identity on tools (
    client, kind, scope, ifnull(project_hash, ''), ifnull(dir, ''), ifnull(agent, ''), ifnull(server, ''), name
);
CREATE INDEX tools_by_name on tools (name, client);
CREATE INDEX tools_loose on tools (client) where authority < 3;
CREATE INDEX tools_by_project on tools (project_hash);
CREATE INDEX tools_by_definition on tools (definition_id) where definition_id is not null;
CREATE INDEX tools_by_server on tools (server_id) where server_id is not null;
CREATE TABLE trust (
    tool_id integer primary key references tools (id) on delete cascade,
    digest text not null,
    trusted_at integer not null
, sandbox text, entry text) strict;
CREATE TABLE sightings (
    tool_id integer not null references tools (id) on delete cascade,
    project_hash text not null references projects (hash) on delete cascade,
    definition_id integer references definitions (id),
    primary key (tool_id, project_hash)
) strict, without rowid;
CREATE INDEX sightings_by_project on sightings (project_hash);
CREATE INDEX sightings_by_definition on sightings (definition_id) where definition_id is not null;
CREATE TABLE views (
    id integer primary key,
    client text not null,
    workspace text not null,
    flags text not null, -- launch flags of the client; empty for the default
    project_hash text not null references projects (hash) on delete cascade,
    scanned_at integer not null, permissions text not null default '[]',
    unique (client, workspace, flags)
) strict;
CREATE INDEX views_by_project on views (project_hash);
CREATE TABLE resolutions (
    view_id integer not null references views (id) on delete cascade,
    tool_id integer not null references tools (id) on delete cascade,
    source text not null,
    digest text, -- at the time the view was read: the row may have been read for another view since
    config_status text not null,
    shadowed_by integer references tools (id) on delete set null,
    primary key (view_id, tool_id)
) strict, without rowid;
CREATE INDEX resolutions_by_tool on resolutions (tool_id);
CREATE INDEX resolutions_by_winner on resolutions (shadowed_by) where shadowed_by is not null;
CREATE TABLE rules (
    client text not null,
    project_hash text not null references projects (hash) on delete cascade,
    source text not null,
    level text not null,
    effect text not null,
    subject text not null,
    primary key (client, project_hash, source, level, effect, subject)
) strict, without rowid;
CREATE INDEX rules_by_project on rules (project_hash);
CREATE TABLE inputs (
    view_id integer not null references views (id) on delete cascade,
    name text not null,
    fingerprint text not null,
    primary key (view_id, name)
) strict, without rowid;
CREATE TABLE problems (
    id integer primary key,
    view_id integer not null references views (id) on delete cascade,
    source text not null,
    place text not null,
    reason text not null
) strict;
CREATE INDEX problems_by_view on problems (view_id);
CREATE TABLE usage_events (
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
CREATE INDEX usage_events_by_tool on usage_events (tool_id, used_at);
CREATE INDEX usage_events_by_project on usage_events (project_hash, used_at);
CREATE INDEX usage_events_by_call on usage_events (call_id) where call_id is not null;
CREATE TABLE usage_totals (
    tool_id integer not null references tools (id) on delete cascade,
    project_hash text not null references projects (hash) on delete cascade,
    uses integer not null,
    failures integer not null,
    last_used_at integer not null,
    outcomes text not null default '',
    primary key (tool_id, project_hash)
) strict, without rowid;
CREATE INDEX usage_totals_by_project on usage_totals (project_hash);
CREATE TRIGGER usage_counted after insert on usage_events begin
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
CREATE TRIGGER usage_outcome_learned after update of succeeded on usage_events
when old.succeeded is null and new.succeeded is not null begin
    update usage_totals set
        failures = failures + (new.succeeded is 0),
        outcomes = substr(outcomes || iif(new.succeeded, '+', '-'), -5)
    where tool_id = new.tool_id and project_hash = new.project_hash;
end;
CREATE TABLE documents (
    id integer primary key autoincrement, -- never reused: a vector may arrive after its document was deleted
    digest text not null unique,
    document text not null, -- as JSON, for embedding models
    name text not null, -- columns of the word index, with identifiers split into words
    server text not null,
    body text not null,
    params text not null,
    details text not null
) strict;
CREATE INDEX definitions_unread on definitions (id) where document_id is null;
CREATE INDEX definitions_by_document on definitions (document_id) where document_id is not null;
CREATE INDEX tools_unread on tools (id) where document_id is null and definition_id is null;
CREATE INDEX tools_by_document on tools (document_id) where document_id is not null;
CREATE VIRTUAL TABLE documents_by_word using fts5 (
    name, server, body, params, details, content = 'documents', content_rowid = 'id', tokenize = 'porter unicode61'
);
CREATE TRIGGER document_added after insert on documents begin
    insert into documents_by_word (rowid, name, server, body, params, details)
    values (new.id, new.name, new.server, new.body, new.params, new.details);
end;
CREATE TRIGGER document_removed after delete on documents begin
    insert into documents_by_word (documents_by_word, rowid, name, server, body, params, details)
    values ('delete', old.id, old.name, old.server, old.body, old.params, old.details);
end;
CREATE TRIGGER document_changed after update of name, server, body, params, details on documents begin
    insert into documents_by_word (documents_by_word, rowid, name, server, body, params, details)
    values ('delete', old.id, old.name, old.server, old.body, old.params, old.details);
    insert into documents_by_word (rowid, name, server, body, params, details)
    values (new.id, new.name, new.server, new.body, new.params, new.details);
end;
CREATE TABLE vectors (
    model text not null,
    document_id integer not null references documents (id) on delete cascade,
    vector blob not null, -- 32-bit floats
    primary key (model, document_id)
) strict, without rowid;
CREATE INDEX vectors_by_document on vectors (document_id);
CREATE TABLE configuration_files (
    source text primary key,
    project_hash text references projects (hash) on delete cascade, -- null: a user's or managed file
    fingerprint text not null,
    content text not null, -- as JSON, like the next two
    places text not null, -- positions of its keys
    problems text not null
) strict, without rowid;
CREATE INDEX configuration_files_by_project on configuration_files (project_hash);
CREATE TABLE configurations (
    workspace text primary key,
    project_hash text not null references projects (hash) on delete cascade,
    inputs text not null, -- each file with its fingerprint, as JSON
    problems text not null,
    transitions text not null
, observes text not null default 'true', retention text not null default '{}') strict, without rowid;
CREATE INDEX configurations_by_project on configurations (project_hash);
CREATE TABLE configuration_trust (
    project_hash text not null references projects (hash) on delete cascade,
    source text not null,
    subject text not null,
    digest text not null,
    trusted_at integer not null,
    primary key (project_hash, source, subject)
) strict, without rowid;
CREATE TABLE workflow_states (
    project_hash text not null references projects (hash) on delete cascade,
    name text not null,
    set_at integer not null,
    set_by text not null, -- the tool whose success set it; empty if a person did
    primary key (project_hash, name)
) strict, without rowid;
CREATE TABLE pushed_states (
    project_hash text not null references projects (hash) on delete cascade,
    name text not null,
    value text not null, -- as JSON
    pushed_at integer not null,
    until integer not null,
    primary key (project_hash, name)
) strict, without rowid;
CREATE TABLE observations (
    workspace text not null,
    name text not null,
    project_hash text not null references projects (hash) on delete cascade,
    mark text not null,
    truth integer,
    reason text not null,
    count integer,
    observed_at integer not null, -- 0: never
    until integer not null,
    claimed_until integer not null, -- a process is detecting it again
    primary key (workspace, name)
) strict, without rowid;
CREATE INDEX observations_by_project on observations (project_hash);
CREATE TABLE approvals (
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
    used_at integer, declined_at integer,
    check ((answered_at is null) = (is_approved is null)),
    check (used_at is null or is_approved = 1)
) strict, without rowid;
CREATE INDEX approvals_by_project on approvals (project_hash, tool);
CREATE TABLE memory_nodes (
    id integer primary key autoincrement,
    key text not null unique, -- its id in the API
    kind text not null check (kind in (
        'global', 'project', 'focus', 'session', 'decision', 'pattern', 'context', 'entity', 'observation'
    )),
    project text not null,
    home integer,
    home_kind text check (home_kind in ('global', 'project', 'focus')),
    name text not null, -- searchable text, like the next column
    body text not null,
    subject text not null, -- decisions on the same subject and facts about the same entity share it
    fingerprint text not null, -- of its content
    content text not null, -- as JSON
    status text not null check (status in ('live', 'superseded', 'held')),
    dated_at integer not null, -- when it was last confirmed; of a project: the time of its last hygiene check
    created_at integer not null,
    updated_at integer not null,
    -- The terms by which search filters by place; hidden nodes have none.
    place text generated always as (
        iif(status = 'live' and home is not null and kind <> 'focus', 'h' || home || ' h' || home || kind, '')
    ) virtual,
    unique (id, project),
    unique (id, project, kind),
    foreign key (home, project, home_kind) references memory_nodes (id, project, kind) on delete cascade,
    check ((home is null) = (kind in ('global', 'project'))),
    check ((home is null) = (home_kind is null)),
    check (kind <> 'focus' or home_kind = 'project'),
    check ((project = '') = (kind = 'global' or home_kind is 'global'))
) strict;
CREATE UNIQUE INDEX memory_roots on memory_nodes (project) where home is null;
CREATE INDEX memory_homes on memory_nodes (project) where kind in ('global', 'project', 'focus');
CREATE UNIQUE INDEX memory_focuses on memory_nodes (project, name) where kind = 'focus';
CREATE UNIQUE INDEX memory_entities on memory_nodes (home, subject) where kind = 'entity';
CREATE INDEX memory_by_home on memory_nodes (home, status, kind, created_at);
CREATE INDEX memory_by_fingerprint on memory_nodes (home, fingerprint);
CREATE INDEX memory_by_subject on memory_nodes (project, subject) where kind = 'decision';
CREATE TABLE memory_edges (
    source integer not null,
    relation text not null,
    target integer not null,
    project text not null,
    properties text not null, -- as JSON
    created_at integer not null,
    primary key (source, relation, target),
    foreign key (source, project) references memory_nodes (id, project) on delete cascade,
    foreign key (target, project) references memory_nodes (id, project) on delete cascade
) strict, without rowid;
CREATE INDEX memory_edges_by_target on memory_edges (target);
CREATE INDEX memory_edges_by_relation on memory_edges (project, relation);
CREATE TABLE memory_words (
    home integer not null,
    word text not null,
    node_id integer not null references memory_nodes (id) on delete cascade,
    primary key (home, word, node_id)
) strict, without rowid;
CREATE INDEX memory_words_by_node on memory_words (node_id);
CREATE VIEW memory_shown as select id, place, name, body from memory_nodes where place <> '';
CREATE VIRTUAL TABLE memory_by_word using fts5 (
    place, name, body, content = 'memory_shown', content_rowid = 'id', tokenize = 'porter unicode61'
);
CREATE TABLE memory_model (
    one integer primary key check (one = 1),
    model text not null
, round integer not null default 0) strict;
CREATE TABLE memory_vectors (
    node_id integer primary key references memory_nodes (id) on delete cascade,
    vector blob not null -- 32-bit floats
) strict;
CREATE TABLE memory_codes (
    home integer not null,
    kind text not null,
    node_id integer not null references memory_nodes (id) on delete cascade,
    code blob not null, round integer not null default 0,
    primary key (home, kind, node_id)
) strict, without rowid;
CREATE INDEX memory_codes_by_node on memory_codes (node_id);
CREATE TABLE memory_unread (
    node_id integer primary key references memory_nodes (id) on delete cascade
) strict;
CREATE TRIGGER memory_added after insert on memory_nodes when new.place <> '' begin
    insert into memory_by_word (rowid, place, name, body) values (new.id, new.place, new.name, new.body);
    insert into memory_unread (node_id) values (new.id);
end;
CREATE TRIGGER memory_removed after delete on memory_nodes when old.place <> '' begin
    insert into memory_by_word (memory_by_word, rowid, place, name, body)
    values ('delete', old.id, old.place, old.name, old.body);
end;
CREATE TRIGGER memory_changed after update of name, body, status on memory_nodes begin
    insert into memory_by_word (memory_by_word, rowid, place, name, body)
    select 'delete', old.id, old.place, old.name, old.body where old.place <> '';
    delete from memory_vectors where node_id = old.id;
    delete from memory_codes where node_id = old.id;
    delete from memory_unread where node_id = old.id;
    insert into memory_by_word (rowid, place, name, body)
    select new.id, new.place, new.name, new.body where new.place <> '';
    insert into memory_unread (node_id) select new.id where new.place <> '';
end;
CREATE TABLE wares (
    tool_id integer primary key references tools (id) on delete cascade, -- the server's row
    digest text, -- of its launch, at the time of the listing
    resources text not null,
    templates text not null,
    prompts text not null,
    capabilities text not null,
    instructions text,
    listed_at integer not null
) strict;
CREATE TABLE audit (
    id integer primary key,
    project_hash text not null references projects (hash) on delete cascade,
    called_at integer not null,
    endpoint text not null,
    client text not null,
    agent text,
    principal text,
    tool text not null,
    verdict text not null,
    gate text,
    outcome text not null,
    duration_ms integer not null,
    bytes_in integer not null,
    bytes_out integer not null
, chain text not null default '') strict;
CREATE INDEX audit_by_time on audit (called_at);
CREATE INDEX audit_by_project on audit (project_hash, called_at);
CREATE TABLE revisions (
    part text primary key,
    number integer not null
) strict, without rowid;
CREATE TRIGGER catalog_tool_added after insert on tools begin
    update revisions set number = number + 1 where part = 'catalog';
end;
CREATE TRIGGER catalog_tool_removed after delete on tools begin
    update revisions set number = number + 1 where part = 'catalog';
end;
CREATE TRIGGER catalog_tool_changed after update on tools
when old.scope is not new.scope or old.project_hash is not new.project_hash or old.dir is not new.dir
    or old.server is not new.server or old.plugin is not new.plugin or old.agent is not new.agent
    or old.profile is not new.profile or old.server_id is not new.server_id or old.source is not new.source
    or old.authority is not new.authority or old.endpoint is not new.endpoint or old.digest is not new.digest
    or old.is_remit is not new.is_remit or old.own_status is not new.own_status
    or old.definition_id is not new.definition_id or old.is_unlisted is not new.is_unlisted
    or old.listed_digest is not new.listed_digest or (old.listed_at is null) is not (new.listed_at is null)
begin
    update revisions set number = number + 1 where part = 'catalog';
end;
CREATE TRIGGER catalog_resolution_added after insert on resolutions begin
    update revisions set number = number + 1 where part = 'catalog';
end;
CREATE TRIGGER catalog_resolution_removed after delete on resolutions begin
    update revisions set number = number + 1 where part = 'catalog';
end;
CREATE TRIGGER catalog_trust_given after insert on trust begin
    update revisions set number = number + 1 where part = 'catalog';
end;
CREATE TRIGGER catalog_trust_changed after update on trust begin
    update revisions set number = number + 1 where part = 'catalog';
end;
CREATE TRIGGER catalog_trust_revoked after delete on trust begin
    update revisions set number = number + 1 where part = 'catalog';
end;
CREATE TRIGGER catalog_sighting_added after insert on sightings begin
    update revisions set number = number + 1 where part = 'catalog';
end;
CREATE TRIGGER catalog_sighting_changed after update on sightings when old.definition_id is not new.definition_id begin
    update revisions set number = number + 1 where part = 'catalog';
end;
CREATE TRIGGER catalog_wares_added after insert on wares begin
    update revisions set number = number + 1 where part = 'catalog';
end;
CREATE TRIGGER catalog_wares_changed after update on wares
when old.digest is not new.digest or old.resources <> new.resources or old.templates <> new.templates
    or old.prompts <> new.prompts or old.capabilities <> new.capabilities or old.instructions is not new.instructions
begin
    update revisions set number = number + 1 where part = 'catalog';
end;
CREATE TRIGGER catalog_wares_removed after delete on wares begin
    update revisions set number = number + 1 where part = 'catalog';
end;
CREATE TRIGGER catalog_part_trusted after insert on configuration_trust begin
    update revisions set number = number + 1 where part = 'catalog';
end;
CREATE TRIGGER catalog_part_changed after update on configuration_trust begin
    update revisions set number = number + 1 where part = 'catalog';
end;
CREATE TRIGGER catalog_part_revoked after delete on configuration_trust begin
    update revisions set number = number + 1 where part = 'catalog';
end;
CREATE TABLE sessions (
    client text not null,
    session_id text not null,
    project_hash text not null references projects (hash) on delete cascade,
    started_at integer not null,
    ended_at integer,
    states text not null, transcript text, read_to integer not null default 0, -- at the start of the session, as JSON
    primary key (project_hash, client, session_id)
) strict, without rowid;
CREATE INDEX usage_events_by_session on usage_events (session_id, used_at) where session_id is not null;
CREATE TABLE suggestions (
    id integer primary key,
    client text not null,
    session_id text not null,
    project_hash text not null references projects (hash) on delete cascade,
    tool text not null,
    cause text not null,
    suggested_at integer not null
) strict;
CREATE INDEX suggestions_by_project on suggestions (project_hash, suggested_at);
CREATE TABLE judgements (
    workspace text not null,
    subject text not null,
    project_hash text not null references projects (hash) on delete cascade,
    mark text not null,
    answer text not null,
    judged_at integer not null,
    primary key (workspace, subject)
) strict, without rowid;
CREATE INDEX judgements_by_project on judgements (project_hash);
CREATE INDEX memory_codes_by_round on memory_codes (home, round);
CREATE TABLE reported_calls (
    project_hash text not null references projects (hash) on delete cascade,
    client text not null,
    call_id text not null,
    session_id text not null,
    told_at integer not null,
    primary key (project_hash, client, call_id)
) strict, without rowid;
CREATE TABLE traces (
    id integer primary key,
    project_hash text not null references projects (hash) on delete cascade,
    sort text not null,
    subject text not null,
    verb text not null, -- what happened to the subject
    times integer not null, -- number of occurrences in the last session that left it
    session_id text,
    left_at integer not null,
    artifact text, -- the observation in memory that records it
    is_news integer not null, -- whether it is not in memory yet, or has changed since
    unique (project_hash, sort, subject)
) strict;
CREATE TRIGGER catalog_permissions_added after insert on views when new.permissions <> '[]' begin
    update revisions set number = number + 1 where part = 'catalog';
end;
CREATE TRIGGER catalog_permissions_changed after update on views when old.permissions <> new.permissions begin
    update revisions set number = number + 1 where part = 'catalog';
end;
CREATE TABLE prompted_calls (
    project_hash text not null references projects (hash) on delete cascade,
    client text not null,
    call_id text not null,
    tool text not null,
    arguments text not null, -- digest
    prompted_at integer not null,
    primary key (project_hash, client, call_id)
) strict, without rowid;
CREATE TABLE pins (
    tool_id integer primary key references tools (id) on delete cascade,
    definition_id integer references definitions (id), -- accepted; null: none yet
    accepted_by text, -- `first sight`, `entry` or `person`
    accepted_at integer,
    entry text, -- digest of the server's launch that it was last listed with
    changed_id integer references definitions (id), -- not accepted; null: the tool is as accepted
    verdict text,
    reason text,
    detail text,
    changed_at integer,
    is_news integer not null default 0 -- no session has reported it yet
) strict;
CREATE INDEX pins_by_definition on pins (definition_id) where definition_id is not null;
CREATE INDEX pins_by_change on pins (changed_id) where changed_id is not null;
CREATE INDEX pins_changed on pins (tool_id) where verdict is not null;
CREATE TRIGGER catalog_pin_added after insert on pins when new.verdict is not null begin
    update revisions set number = number + 1 where part = 'catalog';
end;
CREATE TRIGGER catalog_pin_changed after update on pins
when old.verdict is not new.verdict or old.detail is not new.detail or old.definition_id is not new.definition_id
begin
    update revisions set number = number + 1 where part = 'catalog';
end;
CREATE TABLE deliveries (
    id text primary key,
    delivered_at integer not null
);
CREATE INDEX deliveries_by_time on deliveries (delivered_at);
CREATE INDEX audit_in_order on audit (project_hash, id);
CREATE TABLE audit_anchors (
    project_hash text primary key references projects (hash) on delete cascade,
    chain text not null
, entries integer not null default 0, until integer) strict, without rowid;
insert into documents_by_word (documents_by_word, rank) values ('secure-delete', 1);
insert into memory_nodes (
    key, kind, project, name, body, subject, fingerprint, content, status, dated_at, created_at, updated_at
) values ('global', 'global', '', '', '', '', '', '{}', 'live', 0, 0, 0);
insert into memory_by_word (memory_by_word, rank) values ('secure-delete', 1);
insert into revisions (part, number) values ('catalog', 1);
