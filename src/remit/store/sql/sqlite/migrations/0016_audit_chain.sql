-- Each entry of the audit log carries a digest over itself and the entries before it in its project.
-- The anchor is the digest of the last entry that was deleted for its age; an empty chain: entries of an older Remit.
alter table audit add column chain text not null default '';
create index audit_in_order on audit (project_hash, id);
create table audit_anchors (
    project_hash text primary key references projects (hash) on delete cascade,
    chain text not null
) strict, without rowid;
