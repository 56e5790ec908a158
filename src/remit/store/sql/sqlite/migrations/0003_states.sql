-- A file of Remit's own configuration: its last valid content, and its current problems.
create table configuration_files (
    source text primary key,
    project_hash text references projects (hash) on delete cascade, -- null: a user's or managed file
    fingerprint text not null,
    content text not null, -- as JSON, like the next two
    places text not null, -- positions of its keys
    problems text not null
) strict, without rowid;
create index configuration_files_by_project on configuration_files (project_hash);

-- The merged configuration of a workspace.
create table configurations (
    workspace text primary key,
    project_hash text not null references projects (hash) on delete cascade,
    inputs text not null, -- each file with its fingerprint, as JSON
    problems text not null,
    transitions text not null
) strict, without rowid;
create index configurations_by_project on configurations (project_hash);

-- The user trusts a part of a configuration to run or permit something, until it changes.
create table configuration_trust (
    project_hash text not null references projects (hash) on delete cascade,
    source text not null,
    subject text not null,
    digest text not null,
    trusted_at integer not null,
    primary key (project_hash, source, subject)
) strict, without rowid;

-- Workflow states that are set; all others are false.
create table workflow_states (
    project_hash text not null references projects (hash) on delete cascade,
    name text not null,
    set_at integer not null,
    set_by text not null, -- the tool whose success set it; empty if a person did
    primary key (project_hash, name)
) strict, without rowid;

-- States pushed by a host application, with their expiry.
create table pushed_states (
    project_hash text not null references projects (hash) on delete cascade,
    name text not null,
    value text not null, -- as JSON
    pushed_at integer not null,
    until integer not null,
    primary key (project_hash, name)
) strict, without rowid;

-- Cached results of slow detectors. `mark` identifies what was detected, and how.
create table observations (
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
create index observations_by_project on observations (project_hash);
