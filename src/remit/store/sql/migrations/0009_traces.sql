-- Where a client writes a session down, and how much of that was read for uses that no hook told of.
alter table sessions add column transcript text;
alter table sessions add column read_to integer not null default 0; -- in bytes

-- Calls through the gateway that a client calls failures: only the gateway knows whether it passed them on, and
-- if so, in which session that was is known from here.
create table reported_calls (
    project_hash text not null references projects (hash) on delete cascade,
    client text not null,
    call_id text not null,
    session_id text not null,
    told_at integer not null,
    primary key (project_hash, client, call_id)
) strict, without rowid;

-- What calls left behind that the next session may want to know of: one of each sort and subject.
create table traces (
    id integer primary key,
    project_hash text not null references projects (hash) on delete cascade,
    sort text not null,
    subject text not null,
    verb text not null, -- what became of the subject
    times integer not null, -- in the session that left it last
    session_id text,
    left_at integer not null,
    artifact text, -- the observation in memory that says so
    is_news integer not null, -- whether it says more than that, or there is none
    unique (project_hash, sort, subject)
) strict;

alter table configurations add column observes text not null default 'true'; -- whether traces are kept, as JSON

-- Decisions by states are kept, too: what is watched for them, and an answer for each reading of that.
delete from judgements;
