-- The client's permission rules that count in a view, as JSON, in their order.
alter table views add column permissions text not null default '[]';

create trigger catalog_permissions_added after insert on views when new.permissions <> '[]' begin
    update revisions set number = number + 1 where part = 'catalog';
end;
create trigger catalog_permissions_changed after update on views when old.permissions <> new.permissions begin
    update revisions set number = number + 1 where part = 'catalog';
end;

-- The next scan reads every file again, because its rules were not stored.
delete from inputs;

-- Calls about which the client asked its user because of its own rules: the gateway need not ask again.
create table prompted_calls (
    project_hash text not null references projects (hash) on delete cascade,
    client text not null,
    call_id text not null,
    tool text not null,
    arguments text not null, -- digest
    prompted_at integer not null,
    primary key (project_hash, client, call_id)
) strict, without rowid;
