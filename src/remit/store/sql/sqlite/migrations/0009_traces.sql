-- The path of a session's transcript, and how much of it was searched for calls that no hook reported.
alter table sessions add column transcript text;
alter table sessions add column read_to integer not null default 0; -- in bytes

-- Calls through the gateway that a client reports as failed. Only the gateway knows whether it forwarded them;
-- this table tells it the session.
create table reported_calls (
    project_hash text not null references projects (hash) on delete cascade,
    client text not null,
    call_id text not null,
    session_id text not null,
    told_at integer not null,
    primary key (project_hash, client, call_id)
) strict, without rowid;

-- Traces that calls left for the next session, one per sort and subject.
create table traces (
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

alter table configurations add column observes text not null default 'true'; -- whether traces are stored, as JSON

-- Decisions that depend on states are cached too, with the states to watch and one answer for each reading.
delete from judgements;
