-- A session of a client in a project, as reported by hooks.
create table sessions (
    client text not null,
    session_id text not null,
    project_hash text not null references projects (hash) on delete cascade,
    started_at integer not null,
    ended_at integer,
    states text not null, -- at the start of the session, as JSON
    primary key (project_hash, client, session_id)
) strict, without rowid;

create index usage_events_by_session on usage_events (session_id, used_at) where session_id is not null;

-- Suggestions made to agents, to limit repetition.
create table suggestions (
    id integer primary key,
    client text not null,
    session_id text not null,
    project_hash text not null references projects (hash) on delete cascade,
    tool text not null,
    cause text not null,
    suggested_at integer not null
) strict;
create index suggestions_by_project on suggestions (project_hash, suggested_at);

-- Cached decisions about calls that depend on no state, so hooks need not decide again. `mark` is a digest of
-- everything the decision depends on.
create table judgements (
    workspace text not null,
    subject text not null,
    project_hash text not null references projects (hash) on delete cascade,
    mark text not null,
    answer text not null,
    judged_at integer not null,
    primary key (workspace, subject)
) strict, without rowid;
create index judgements_by_project on judgements (project_hash);
