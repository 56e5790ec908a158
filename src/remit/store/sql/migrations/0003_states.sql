-- A file of Remit's own configuration: what it said when it could last be used, and what is wrong with it now.
create table configuration_files (
    source text primary key,
    project_hash text references projects (hash) on delete cascade, -- null: the user's own, or an administrator's
    fingerprint text not null,
    content text not null, -- as JSON, as are the next two
    places text not null, -- of its keys
    problems text not null
) strict, without rowid;
create index configuration_files_by_project on configuration_files (project_hash);

-- What the files come to in one workspace.
create table configurations (
    workspace text primary key,
    project_hash text not null references projects (hash) on delete cascade,
    inputs text not null, -- each file with its fingerprint, as JSON
    problems text not null,
    transitions text not null
) strict, without rowid;
create index configurations_by_project on configurations (project_hash);

-- The user's word that a part of a configuration may run or widen something, as long as it stays what it was.
create table configuration_trust (
    project_hash text not null references projects (hash) on delete cascade,
    source text not null,
    subject text not null,
    digest text not null,
    trusted_at integer not null,
    primary key (project_hash, source, subject)
) strict, without rowid;

-- Workflow states that are set; one that is not here is false.
create table workflow_states (
    project_hash text not null references projects (hash) on delete cascade,
    name text not null,
    set_at integer not null,
    set_by text not null, -- the tool whose success set it; empty for a person
    primary key (project_hash, name)
) strict, without rowid;

-- What a host application said of itself, until when it counts.
create table pushed_states (
    project_hash text not null references projects (hash) on delete cascade,
    name text not null,
    value text not null, -- as JSON
    pushed_at integer not null,
    until integer not null,
    primary key (project_hash, name)
) strict, without rowid;

-- What detectors found that are too slow to be asked every time. `mark` says what was looked at, and how.
create table observations (
    workspace text not null,
    name text not null,
    project_hash text not null references projects (hash) on delete cascade,
    mark text not null,
    truth integer,
    reason text not null,
    count integer,
    observed_at integer not null, -- 0: never yet
    until integer not null,
    claimed_until integer not null, -- somebody is finding it out anew
    primary key (workspace, name)
) strict, without rowid;
create index observations_by_project on observations (project_hash);
