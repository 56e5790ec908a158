-- The store in PostgreSQL: tables as SQLite has them, functions that SQLite has, triggers, and row-level security.
-- Text compares by code points, as in SQLite.

-- What SQLite calls by these names, so that both databases run the same queries.

create function ifnull(anycompatible, anycompatible) returns anycompatible
language sql immutable parallel safe as $$ select coalesce($1, $2) $$;

create function iif(boolean, anycompatible, anycompatible) returns anycompatible
language sql immutable parallel safe as $$ select case when $1 then $2 else $3 end $$;

create function max(bigint, bigint) returns bigint language sql immutable parallel safe return greatest($1, $2);

create function min(bigint, bigint) returns bigint language sql immutable parallel safe return least($1, $2);

create function instr(text, text) returns integer language sql immutable parallel safe return strpos($1, $2);

create function json_each(text) returns table (value text)
language sql immutable parallel safe
as $$ select json_array_elements_text(replace($1, '\u0000', '\ufffd')::json) $$; -- PostgreSQL cannot hold NUL

-- Vectors are columns of pgvector, without a number of dimensions, which depends on the model; their length in bytes is
-- that of 32-bit floats.

create function length(vector) returns integer language sql immutable parallel safe return 4 * vector_dims($1);

create function vec_distance_cosine(vector, vector) returns double precision
language sql immutable parallel safe return $1 <=> $2;

create table projects (
    hash text collate "C" primary key,
    path text collate "C" not null,
    seen_at bigint not null
);

create table documents (
    id bigint generated always as identity primary key,
    digest text collate "C" not null unique,
    document text not null, -- as JSON, for embedding models
    name text not null, -- columns of the word index, with identifiers split into words
    server text not null,
    body text not null,
    params text not null,
    details text not null,
    size integer -- number of terms; null: they are not in the word index yet
);
create index documents_without_terms on documents (id) where size is null;

-- The word index: terms, and pairs of adjacent ones, as FTS5 would split and stem them. Equality is leakproof, so that
-- row-level security lets an index find them; a full-text match would read every row.
create table document_terms (
    term text collate "C" not null,
    document_id bigint not null, -- without a foreign key, which would be checked for each term
    weight real not null, -- sum of the weights of the columns that contain it
    size integer not null, -- of its document
    primary key (term, document_id) include (weight, size)
);
create index document_terms_by_document on document_terms (document_id);

create function forget_document_terms() returns trigger language plpgsql as $$
declare
    before text := coalesce(current_setting('remit.everything', true), '');
begin
    -- Only a superuser may set it for a function.
    perform set_config('remit.everything', 'on', true);
    delete from document_terms where document_id = old.id;
    perform set_config('remit.everything', before, true);
    return null;
end $$;
create trigger document_forgotten after delete on documents for each row execute function forget_document_terms();

create table definitions (
    id bigint generated always as identity primary key,
    digest text collate "C" not null unique,
    server text collate "C",
    name text collate "C" not null,
    tool text collate "C", -- the server's own name for it
    title text,
    description text,
    input_schema text,
    output_schema text,
    annotations text,
    tokens bigint not null, -- estimated cost of sending it
    document_id bigint references documents (id),
    danger integer check (danger between 0 and 4),
    raw text,
    pin text,
    described text
);
create index definitions_unread on definitions (id) where document_id is null;
create index definitions_by_document on definitions (document_id) where document_id is not null;

create table tools (
    id bigint generated always as identity primary key,
    client text collate "C" not null,
    kind text collate "C" not null,
    scope text collate "C" not null check (scope in ('managed', 'dynamic', 'local', 'project', 'global', 'plugin')),
    project_hash text collate "C" references projects (hash) on delete cascade,
    dir text collate "C",
    server text collate "C",
    name text collate "C" not null,
    plugin text collate "C",
    agent text collate "C", -- the agent that declares this server
    profile text, -- of a subagent, as JSON
    server_id bigint references tools (id) on delete cascade,
    source text collate "C" not null,
    authority integer not null check (authority in (1, 2, 3)),
    endpoint text,
    digest text collate "C",
    is_remit integer not null default 0,
    own_status text collate "C",
    definition_id bigint references definitions (id),
    is_unlisted integer not null default 0, -- its server did not list this tool the last time
    listed_at bigint, -- of a server: time, launch digest and protocol version of the last listing
    listed_digest text collate "C",
    protocol_version text,
    failure text, -- of a server: why the last listing failed, and the launch digest at that time
    failed_digest text collate "C",
    discovered_at bigint not null,
    updated_at bigint not null,
    document_id bigint references documents (id),
    check (scope not in ('managed', 'global') or project_hash is null),
    check (scope not in ('dynamic', 'local', 'project') or project_hash is not null),
    check ((scope = 'project') = (dir is not null))
);
create unique index tools_identity on tools (
    client, kind, scope, ifnull(project_hash, ''), ifnull(dir, ''), ifnull(agent, ''), ifnull(server, ''), name
);
create index tools_by_name on tools (name, client);
create index tools_loose on tools (client) where authority < 3;
create index tools_by_project on tools (project_hash);
create index tools_by_definition on tools (definition_id) where definition_id is not null;
create index tools_by_server on tools (server_id) where server_id is not null;
create index tools_unread on tools (id) where document_id is null and definition_id is null;
create index tools_by_document on tools (document_id) where document_id is not null;

create table trust (
    tool_id bigint primary key references tools (id) on delete cascade,
    digest text collate "C" not null,
    trusted_at bigint not null,
    sandbox text
);

create table sightings (
    tool_id bigint not null references tools (id) on delete cascade,
    project_hash text collate "C" not null references projects (hash) on delete cascade,
    definition_id bigint references definitions (id),
    primary key (tool_id, project_hash)
);
create index sightings_by_project on sightings (project_hash);
create index sightings_by_definition on sightings (definition_id) where definition_id is not null;

create table views (
    id bigint generated always as identity primary key,
    client text collate "C" not null,
    workspace text collate "C" not null,
    flags text collate "C" not null, -- launch flags of the client; empty for the default
    project_hash text collate "C" not null references projects (hash) on delete cascade,
    scanned_at bigint not null,
    permissions text not null default '[]',
    unique (client, workspace, flags)
);
create index views_by_project on views (project_hash);

create table resolutions (
    view_id bigint not null references views (id) on delete cascade,
    tool_id bigint not null references tools (id) on delete cascade,
    source text collate "C" not null,
    digest text collate "C", -- at the time the view was read: the row may have been read for another view since
    config_status text collate "C" not null,
    shadowed_by bigint references tools (id) on delete set null,
    primary key (view_id, tool_id)
);
create index resolutions_by_tool on resolutions (tool_id);
create index resolutions_by_winner on resolutions (shadowed_by) where shadowed_by is not null;

create table rules (
    client text collate "C" not null,
    project_hash text collate "C" not null references projects (hash) on delete cascade,
    source text collate "C" not null,
    level text collate "C" not null,
    effect text collate "C" not null,
    subject text collate "C" not null,
    primary key (client, project_hash, source, level, effect, subject)
);
create index rules_by_project on rules (project_hash);

create table inputs (
    view_id bigint not null references views (id) on delete cascade,
    name text collate "C" not null,
    fingerprint text collate "C" not null,
    primary key (view_id, name)
);

create table problems (
    id bigint generated always as identity primary key,
    view_id bigint not null references views (id) on delete cascade,
    source text collate "C" not null,
    place text not null,
    reason text not null
);
create index problems_by_view on problems (view_id);

create table usage_events (
    id bigint generated always as identity primary key,
    tool_id bigint not null references tools (id) on delete cascade,
    client text collate "C" not null,
    project_hash text collate "C" not null references projects (hash) on delete cascade,
    session_id text collate "C",
    call_id text collate "C",
    succeeded integer,
    duration_ms bigint,
    used_at bigint not null
);
create index usage_events_by_tool on usage_events (tool_id, used_at);
create index usage_events_by_project on usage_events (project_hash, used_at);
create index usage_events_by_call on usage_events (call_id) where call_id is not null;
create index usage_events_by_session on usage_events (session_id, used_at) where session_id is not null;

create table usage_totals (
    tool_id bigint not null references tools (id) on delete cascade,
    project_hash text collate "C" not null references projects (hash) on delete cascade,
    uses bigint not null,
    failures bigint not null,
    last_used_at bigint not null,
    outcomes text collate "C" not null default '',
    primary key (tool_id, project_hash)
);
create index usage_totals_by_project on usage_totals (project_hash);

create function count_use() returns trigger language plpgsql as $$
begin
    insert into usage_totals (tool_id, project_hash, uses, failures, last_used_at, outcomes)
    values (
        new.tool_id, new.project_hash, 1, iif(new.succeeded = 0, 1, 0), new.used_at,
        case new.succeeded when 0 then '-' when 1 then '+' else '' end
    )
    on conflict (tool_id, project_hash) do update set
        uses = usage_totals.uses + 1,
        failures = usage_totals.failures + excluded.failures,
        last_used_at = greatest(usage_totals.last_used_at, excluded.last_used_at),
        outcomes = right(usage_totals.outcomes || excluded.outcomes, 5);
    return null;
end $$;
create trigger usage_counted after insert on usage_events for each row execute function count_use();

create function learn_outcome() returns trigger language plpgsql as $$
begin
    update usage_totals set
        failures = failures + iif(new.succeeded = 0, 1, 0),
        outcomes = right(outcomes || iif(new.succeeded = 0, '-', '+'), 5)
    where tool_id = new.tool_id and project_hash = new.project_hash;
    return null;
end $$;
create trigger usage_outcome_learned after update of succeeded on usage_events for each row
when (old.succeeded is null and new.succeeded is not null) execute function learn_outcome();

create table vectors (
    model text collate "C" not null,
    document_id bigint not null references documents (id) on delete cascade,
    vector vector not null,
    primary key (model, document_id)
);
create index vectors_by_document on vectors (document_id);

create table configuration_files (
    source text collate "C" primary key,
    project_hash text collate "C" references projects (hash) on delete cascade, -- null: a user's or managed file
    fingerprint text collate "C" not null,
    content text not null, -- as JSON, like the next two
    places text not null, -- positions of its keys
    problems text not null
);
create index configuration_files_by_project on configuration_files (project_hash);

create table configurations (
    workspace text collate "C" primary key,
    project_hash text collate "C" not null references projects (hash) on delete cascade,
    inputs text not null, -- each file with its fingerprint, as JSON
    problems text not null,
    transitions text not null,
    observes text not null default 'true'
);
create index configurations_by_project on configurations (project_hash);

create table configuration_trust (
    project_hash text collate "C" not null references projects (hash) on delete cascade,
    source text collate "C" not null,
    subject text collate "C" not null,
    digest text collate "C" not null,
    trusted_at bigint not null,
    primary key (project_hash, source, subject)
);

create table workflow_states (
    project_hash text collate "C" not null references projects (hash) on delete cascade,
    name text collate "C" not null,
    set_at bigint not null,
    set_by text collate "C" not null, -- the tool whose success set it; empty if a person did
    primary key (project_hash, name)
);

create table pushed_states (
    project_hash text collate "C" not null references projects (hash) on delete cascade,
    name text collate "C" not null,
    value text not null, -- as JSON
    pushed_at bigint not null,
    until bigint not null,
    primary key (project_hash, name)
);

create table observations (
    workspace text collate "C" not null,
    name text collate "C" not null,
    project_hash text collate "C" not null references projects (hash) on delete cascade,
    mark text collate "C" not null,
    truth integer,
    reason text not null,
    count bigint,
    observed_at bigint not null, -- 0: never
    until bigint not null,
    claimed_until bigint not null, -- a process is detecting it again
    primary key (workspace, name)
);
create index observations_by_project on observations (project_hash);

create table approvals (
    id text collate "C" primary key,
    project_hash text collate "C" not null references projects (hash) on delete cascade,
    principal text collate "C" not null,
    tool text collate "C" not null,
    definition text collate "C" not null, -- a digest, like the next column
    arguments text collate "C" not null,
    shown text not null, -- the arguments for display, without secrets; empty once answered
    reason text not null, -- why approval is needed
    requested_at bigint not null,
    expires_at bigint not null,
    answered_at bigint,
    is_approved integer,
    used_at bigint,
    declined_at bigint,
    check ((answered_at is null) = (is_approved is null)),
    check (used_at is null or is_approved = 1)
);
create index approvals_by_project on approvals (project_hash, tool);

create table audit (
    id bigint generated always as identity primary key,
    project_hash text collate "C" not null references projects (hash) on delete cascade,
    called_at bigint not null,
    endpoint text not null,
    client text collate "C" not null,
    agent text collate "C",
    principal text collate "C",
    tool text collate "C" not null,
    verdict text collate "C" not null,
    gate text collate "C",
    outcome text collate "C" not null,
    duration_ms bigint not null,
    bytes_in bigint not null,
    bytes_out bigint not null,
    chain text collate "C" not null -- a digest over itself and the entries before it in its project
);
create index audit_by_time on audit (called_at);
create index audit_by_project on audit (project_hash, called_at);
create index audit_in_order on audit (project_hash, id);

create table audit_anchors (
    project_hash text collate "C" primary key references projects (hash) on delete cascade,
    chain text collate "C" not null -- of the last entry that was deleted for its age
);

create table deliveries ( -- batches of calls that were recorded lately
    id text collate "C" primary key,
    delivered_at bigint not null
);
create index deliveries_by_time on deliveries (delivered_at);

create table tokens (
    name text collate "C" primary key,
    digest text collate "C" not null unique,
    projects text not null, -- as JSON, like the next column; empty: all
    agents text not null,
    created_at bigint not null
);

create table sessions (
    client text collate "C" not null,
    session_id text collate "C" not null,
    project_hash text collate "C" not null references projects (hash) on delete cascade,
    started_at bigint not null,
    ended_at bigint,
    states text not null, -- at the start of the session, as JSON
    transcript text,
    read_to bigint not null default 0,
    primary key (project_hash, client, session_id)
);

create table suggestions (
    id bigint generated always as identity primary key,
    client text collate "C" not null,
    session_id text collate "C" not null,
    project_hash text collate "C" not null references projects (hash) on delete cascade,
    tool text collate "C" not null,
    cause text collate "C" not null,
    suggested_at bigint not null
);
create index suggestions_by_project on suggestions (project_hash, suggested_at);

create table judgements (
    workspace text collate "C" not null,
    subject text collate "C" not null,
    project_hash text collate "C" not null references projects (hash) on delete cascade,
    mark text collate "C" not null,
    answer text not null,
    judged_at bigint not null,
    primary key (workspace, subject)
);
create index judgements_by_project on judgements (project_hash);

create table reported_calls (
    project_hash text collate "C" not null references projects (hash) on delete cascade,
    client text collate "C" not null,
    call_id text collate "C" not null,
    session_id text collate "C" not null,
    told_at bigint not null,
    primary key (project_hash, client, call_id)
);

create table traces (
    id bigint generated always as identity primary key,
    project_hash text collate "C" not null references projects (hash) on delete cascade,
    sort text collate "C" not null,
    subject text collate "C" not null,
    verb text collate "C" not null, -- what happened to the subject
    times bigint not null, -- number of occurrences in the last session that left it
    session_id text collate "C",
    left_at bigint not null,
    artifact text collate "C", -- the observation in memory that records it
    is_news integer not null, -- whether it is not in memory yet, or has changed since
    unique (project_hash, sort, subject)
);

create table prompted_calls (
    project_hash text collate "C" not null references projects (hash) on delete cascade,
    client text collate "C" not null,
    call_id text collate "C" not null,
    tool text collate "C" not null,
    arguments text collate "C" not null, -- digest
    prompted_at bigint not null,
    primary key (project_hash, client, call_id)
);

create table wares (
    tool_id bigint primary key references tools (id) on delete cascade, -- the server's row
    digest text collate "C", -- of its launch, at the time of the listing
    resources text not null,
    templates text not null,
    prompts text not null,
    capabilities text not null,
    instructions text,
    listed_at bigint not null
);

create table pins (
    tool_id bigint primary key references tools (id) on delete cascade,
    definition_id bigint references definitions (id), -- accepted; null: none yet
    accepted_by text collate "C", -- `first sight`, `entry` or `person`
    accepted_at bigint,
    entry text collate "C", -- digest of the server's launch that it was last listed with
    changed_id bigint references definitions (id), -- not accepted; null: the tool is as accepted
    verdict text collate "C",
    reason text,
    detail text,
    changed_at bigint,
    is_news integer not null default 0 -- no session has reported it yet
);
create index pins_by_definition on pins (definition_id) where definition_id is not null;
create index pins_by_change on pins (changed_id) where changed_id is not null;
create index pins_changed on pins (tool_id) where verdict is not null;

create table memory_nodes (
    id bigint generated always as identity primary key,
    key text collate "C" not null unique, -- its id in the API
    kind text collate "C" not null check (kind in (
        'global', 'project', 'focus', 'session', 'decision', 'pattern', 'context', 'entity', 'observation'
    )),
    project text collate "C" not null,
    home bigint,
    home_kind text collate "C" check (home_kind in ('global', 'project', 'focus')),
    name text not null, -- searchable text, like the next column
    body text not null,
    subject text collate "C" not null, -- decisions on the same subject and facts about the same entity share it
    fingerprint text collate "C" not null, -- of its content
    content text not null, -- as JSON
    status text collate "C" not null check (status in ('live', 'superseded', 'held')),
    dated_at bigint not null, -- when it was last confirmed; of a project: the time of its last hygiene check
    created_at bigint not null,
    updated_at bigint not null,
    is_shown boolean generated always as (status = 'live' and home is not null and kind <> 'focus') stored,
    unique (id, project),
    unique (id, project, kind),
    foreign key (home, project, home_kind) references memory_nodes (id, project, kind) on delete cascade,
    check ((home is null) = (kind in ('global', 'project'))),
    check ((home is null) = (home_kind is null)),
    check (kind <> 'focus' or home_kind = 'project'),
    check ((project = '') = (kind = 'global' or home_kind is not distinct from 'global'))
);
create unique index memory_roots on memory_nodes (project) where home is null;
create index memory_homes on memory_nodes (project) where kind in ('global', 'project', 'focus');
create unique index memory_focuses on memory_nodes (project, name) where kind = 'focus';
create unique index memory_entities on memory_nodes (home, subject) where kind = 'entity';
create index memory_by_home on memory_nodes (home, status, kind, created_at);
create index memory_by_fingerprint on memory_nodes (home, fingerprint);
create index memory_by_subject on memory_nodes (project, subject) where kind = 'decision';

create table memory_edges (
    source bigint not null,
    relation text collate "C" not null,
    target bigint not null,
    project text collate "C" not null,
    properties text not null, -- as JSON
    created_at bigint not null,
    primary key (source, relation, target),
    foreign key (source, project) references memory_nodes (id, project) on delete cascade,
    foreign key (target, project) references memory_nodes (id, project) on delete cascade
);
create index memory_edges_by_target on memory_edges (target);
create index memory_edges_by_relation on memory_edges (project, relation);

create table memory_words (
    home bigint not null,
    word text collate "C" not null,
    node_id bigint not null references memory_nodes (id) on delete cascade,
    primary key (home, word, node_id)
);
create index memory_words_by_node on memory_words (node_id);

create table memory_model (
    one integer primary key check (one = 1),
    model text collate "C" not null,
    round bigint not null default 0
);

create table memory_vectors (
    node_id bigint primary key references memory_nodes (id) on delete cascade,
    home bigint not null,
    kind text collate "C" not null,
    vector vector not null,
    code bit varying generated always as (binary_quantize(vector)) stored -- the signs of its numbers
);
-- A search compares all signs of a home first, which it reads from this index alone, then the nearest vectors. HNSW
-- would filter by home after its scan: with row-level security, it is slower for a project among others.
create index memory_vectors_by_home on memory_vectors (home) include (node_id, kind, code);

create table memory_unread (
    node_id bigint primary key references memory_nodes (id) on delete cascade
);

-- The word index of memory, like that of documents. The terms of a home are next to each other, so a search reads no
-- others.
create table memory_terms (
    home bigint not null,
    term text collate "C" not null,
    node_id bigint not null, -- without a foreign key, which would be checked for each term
    weight real not null,
    size integer not null,
    primary key (home, term, node_id) include (weight, size)
);
create index memory_terms_by_node on memory_terms (node_id);

create table memory_texts ( -- nodes in the word index
    node_id bigint primary key references memory_nodes (id) on delete cascade,
    home bigint not null,
    size integer not null -- number of terms
);
create index memory_texts_by_home on memory_texts (home) include (size);

create table memory_without_terms ( -- nodes to add to the word index
    node_id bigint primary key references memory_nodes (id) on delete cascade
);

create function forget_memory_terms() returns trigger language plpgsql as $$
declare
    before text := coalesce(current_setting('remit.everything', true), '');
begin
    -- Only a superuser may set it for a function.
    perform set_config('remit.everything', 'on', true);
    delete from memory_terms where node_id = old.node_id;
    perform set_config('remit.everything', before, true);
    return null;
end $$;
create trigger memory_text_forgotten after delete on memory_texts
for each row execute function forget_memory_terms();

create function index_memory() returns trigger language plpgsql as $$
begin
    if tg_op = 'UPDATE' then
        delete from memory_vectors where node_id = new.id;
        delete from memory_unread where node_id = new.id;
        delete from memory_texts where node_id = new.id;
        delete from memory_without_terms where node_id = new.id;
    end if;
    if new.is_shown then
        insert into memory_unread (node_id) values (new.id);
        insert into memory_without_terms (node_id) values (new.id);
    end if;
    return null;
end $$;
insert into memory_nodes (
    key, kind, project, name, body, subject, fingerprint, content, status, dated_at, created_at, updated_at
) values ('global', 'global', '', '', '', '', '', '{}', 'live', 0, 0, 0);
-- With `wal_level = minimal`, the next 32 ids would not be logged, and given again after a crash.
select setval(pg_get_serial_sequence('memory_nodes', 'id'), max(id)) from memory_nodes;

create trigger memory_added after insert on memory_nodes for each row execute function index_memory();
create trigger memory_changed after update of name, body, status on memory_nodes
for each row execute function index_memory();

-- The store that is being copied into this one; empty when that is done.

create table copies (
    source text primary key
);

-- Revisions: what other nodes have to read again. A change of a part notifies all nodes once per transaction.

create table revisions (
    part text collate "C",
    writer integer, -- a connection: so that writers do not wait for each other, and each can tell what others wrote
    number bigint not null,
    primary key (part, writer)
);

create function revise() returns trigger language plpgsql as $$
begin
    insert into revisions (part, writer, number) values (tg_argv[0], pg_backend_pid(), 1)
    on conflict (part, writer) do update set number = revisions.number + 1;
    perform pg_notify('remit', tg_argv[0]);
    return null;
end $$;

create trigger catalog_tool_changed after insert or delete on tools for each row execute function revise('catalog');
create trigger catalog_tool_updated after update on tools for each row
when (
    (old.scope, old.project_hash, old.dir, old.server, old.plugin, old.agent, old.profile, old.server_id, old.source,
     old.authority, old.endpoint, old.digest, old.is_remit, old.own_status, old.definition_id, old.is_unlisted,
     old.listed_digest, old.listed_at is null)
    is distinct from
    (new.scope, new.project_hash, new.dir, new.server, new.plugin, new.agent, new.profile, new.server_id, new.source,
     new.authority, new.endpoint, new.digest, new.is_remit, new.own_status, new.definition_id, new.is_unlisted,
     new.listed_digest, new.listed_at is null)
) execute function revise('catalog');
create trigger catalog_resolution_changed after insert or delete on resolutions
for each row execute function revise('catalog');
create trigger catalog_trust_changed after insert or update or delete on trust
for each row execute function revise('catalog');
create trigger catalog_sighting_added after insert on sightings for each row execute function revise('catalog');
create trigger catalog_sighting_changed after update on sightings for each row
when (old.definition_id is distinct from new.definition_id) execute function revise('catalog');
create trigger catalog_wares_changed after insert or delete on wares for each row execute function revise('catalog');
create trigger catalog_wares_updated after update on wares for each row
when (
    (old.digest, old.resources, old.templates, old.prompts, old.capabilities, old.instructions)
    is distinct from
    (new.digest, new.resources, new.templates, new.prompts, new.capabilities, new.instructions)
) execute function revise('catalog');
create trigger catalog_part_changed after insert or update or delete on configuration_trust
for each row execute function revise('catalog');
create trigger catalog_permissions_added after insert on views for each row
when (new.permissions <> '[]') execute function revise('catalog');
create trigger catalog_permissions_changed after update on views for each row
when (old.permissions <> new.permissions) execute function revise('catalog');
create trigger catalog_pin_added after insert on pins for each row
when (new.verdict is not null) execute function revise('catalog');
create trigger catalog_pin_changed after update on pins for each row
when ((old.verdict, old.detail, old.definition_id) is distinct from (new.verdict, new.detail, new.definition_id))
execute function revise('catalog');

create trigger states_set after insert or update or delete on workflow_states
for each row execute function revise('states');
create trigger states_pushed after insert or update or delete on pushed_states
for each row execute function revise('states');
create trigger states_configured after insert or update or delete on configuration_files
for each row execute function revise('states');
create trigger tokens_changed after insert or update or delete on tokens for each row execute function revise('tokens');
create trigger approvals_changed after insert or update on approvals for each row execute function revise('approvals');

-- Row-level security repeats the scope rule of the queries, so that a query without its condition finds nothing.
-- `remit.project` and `remit.reach` hold the project and the directories of the workspace, `remit.memory` the project
-- of memory behind a `p:`, and `remit.everything` is on only for the queries that are marked `everywhere`.

create function here() returns text language sql stable parallel safe
return nullif(current_setting('remit.project', true), '');

create function everywhere() returns boolean language sql stable parallel safe
return coalesce(current_setting('remit.everything', true), '') = 'on';

create function remembers(project text) returns boolean language sql stable parallel safe
return starts_with(current_setting('remit.memory', true), 'p:')
    and project in ('', substr(current_setting('remit.memory', true), 3));

create policy scope on projects using ((select everywhere()) or hash = (select here()));

create policy scope on tools using (
    (select everywhere())
    or (select here()) is not null and (
        scope in ('global', 'managed')
        or scope in ('local', 'dynamic') and project_hash = (select here())
        or scope = 'project' and project_hash = (select here())
            and dir in (select value from json_each(coalesce(nullif(current_setting('remit.reach', true), ''), '[]')))
        or scope = 'plugin' and (project_hash is null or project_hash = (select here()))
    )
);

create policy scope on definitions using (
    (select everywhere())
    or exists (select 1 from tools t where t.definition_id = definitions.id)
    or exists (select 1 from sightings x where x.definition_id = definitions.id)
    or exists (select 1 from pins p where definitions.id in (p.definition_id, p.changed_id))
);
create policy scope on documents using (
    (select everywhere())
    or exists (select 1 from tools t where t.document_id = documents.id)
    or exists (select 1 from definitions d where d.document_id = documents.id)
);
create policy scope on vectors using ((select everywhere()) or document_id in (select id from documents));
create policy scope on document_terms using ((select everywhere()) or document_id in (select id from documents));
create policy scope on configuration_files using (
    (select everywhere()) or (select here()) is not null and ifnull(project_hash, (select here())) = (select here())
);
create policy scope on memory_nodes using ((select everywhere()) or remembers(project));
create policy scope on memory_edges using ((select everywhere()) or remembers(project));

create function remembered_homes() returns bigint[] language sql stable parallel safe
return (select array_agg(id) from memory_nodes where kind in ('global', 'project', 'focus'));

do $$
declare
    name text;
begin
    foreach name in array array[
        'sightings', 'views', 'rules', 'usage_events', 'usage_totals', 'configurations', 'configuration_trust',
        'workflow_states', 'pushed_states', 'observations', 'approvals', 'audit', 'audit_anchors', 'sessions', 'suggestions',
        'judgements', 'reported_calls', 'traces', 'prompted_calls'
    ] loop
        execute format(
            'create policy scope on %I using ((select everywhere()) or project_hash = (select here()))', name
        );
    end loop;
    foreach name in array array['trust', 'pins', 'wares'] loop
        execute format(
            'create policy scope on %I using ('
            '(select everywhere()) or exists (select 1 from tools t where t.id = tool_id))', name
        );
    end loop;
    foreach name in array array['resolutions', 'inputs', 'problems'] loop
        execute format(
            'create policy scope on %I using ('
            '(select everywhere()) or exists (select 1 from views v where v.id = view_id))', name
        );
    end loop;
    foreach name in array array['memory_words', 'memory_vectors', 'memory_terms', 'memory_texts'] loop
        execute format(
            'create policy scope on %I using ((select everywhere()) or home = any ((select remembered_homes())::bigint[]))',
            name
        );
    end loop;
    foreach name in array array['memory_unread', 'memory_without_terms'] loop
        execute format(
            'create policy scope on %I using ('
            '(select everywhere()) or exists (select 1 from memory_nodes n where n.id = node_id))', name
        );
    end loop;
    for name in select tablename from pg_tables where schemaname = current_schema() loop
        -- These are of no project.
        if name not in ('schema_version', 'copies', 'revisions', 'memory_model', 'deliveries', 'tokens') then
            execute format('alter table %I enable row level security', name);
            execute format('alter table %I force row level security', name);
        end if;
    end loop;
end $$;
