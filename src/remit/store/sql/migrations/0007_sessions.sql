-- One conversation with a client in a project, as its hooks tell of it.
create table sessions (
    client text not null,
    session_id text not null,
    project_hash text not null references projects (hash) on delete cascade,
    started_at integer not null,
    ended_at integer,
    states text not null, -- those that held when it began, as JSON
    primary key (project_hash, client, session_id)
) strict, without rowid;

create index usage_events_by_session on usage_events (session_id, used_at) where session_id is not null;

-- What was suggested to an agent, so that nothing is said too often.
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

-- Decisions about calls that depend on no state, so that a hook need not decide again. `mark` covers all that
-- such a decision goes by.
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
