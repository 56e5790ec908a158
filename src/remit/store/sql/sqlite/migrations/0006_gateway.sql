-- The full definition as received, which the gateway serves.
alter table definitions add column raw text;

-- What a server offers besides tools, as JSON as received, and its instructions.
create table wares (
    tool_id integer primary key references tools (id) on delete cascade, -- the server's row
    digest text, -- of its launch, at the time of the listing
    resources text not null,
    templates text not null,
    prompts text not null,
    capabilities text not null,
    instructions text,
    listed_at integer not null
) strict;

-- Every call through the gateway: its outcome, never its content.
create table audit (
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
) strict;
create index audit_by_time on audit (called_at);
create index audit_by_project on audit (project_hash, called_at);

-- Counts changes to the data of catalogs, so a process with a cached catalog can check cheaply whether it is
-- current. Uses do not count.
create table revisions (
    part text primary key,
    number integer not null
) strict, without rowid;
insert into revisions (part, number) values ('catalog', 1);

create trigger catalog_tool_added after insert on tools begin
    update revisions set number = number + 1 where part = 'catalog';
end;
create trigger catalog_tool_removed after delete on tools begin
    update revisions set number = number + 1 where part = 'catalog';
end;
create trigger catalog_tool_changed after update on tools
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
create trigger catalog_resolution_added after insert on resolutions begin
    update revisions set number = number + 1 where part = 'catalog';
end;
create trigger catalog_resolution_removed after delete on resolutions begin
    update revisions set number = number + 1 where part = 'catalog';
end;
create trigger catalog_trust_given after insert on trust begin
    update revisions set number = number + 1 where part = 'catalog';
end;
create trigger catalog_trust_changed after update on trust begin
    update revisions set number = number + 1 where part = 'catalog';
end;
create trigger catalog_trust_revoked after delete on trust begin
    update revisions set number = number + 1 where part = 'catalog';
end;
create trigger catalog_sighting_added after insert on sightings begin
    update revisions set number = number + 1 where part = 'catalog';
end;
create trigger catalog_sighting_changed after update on sightings when old.definition_id is not new.definition_id begin
    update revisions set number = number + 1 where part = 'catalog';
end;
create trigger catalog_wares_added after insert on wares begin
    update revisions set number = number + 1 where part = 'catalog';
end;
create trigger catalog_wares_changed after update on wares
when old.digest is not new.digest or old.resources <> new.resources or old.templates <> new.templates
    or old.prompts <> new.prompts or old.capabilities <> new.capabilities or old.instructions is not new.instructions
begin
    update revisions set number = number + 1 where part = 'catalog';
end;
create trigger catalog_wares_removed after delete on wares begin
    update revisions set number = number + 1 where part = 'catalog';
end;
create trigger catalog_part_trusted after insert on configuration_trust begin
    update revisions set number = number + 1 where part = 'catalog';
end;
create trigger catalog_part_changed after update on configuration_trust begin
    update revisions set number = number + 1 where part = 'catalog';
end;
create trigger catalog_part_revoked after delete on configuration_trust begin
    update revisions set number = number + 1 where part = 'catalog';
end;
