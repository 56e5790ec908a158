-- The digest of what matters in a definition, and the danger that its description and parameters imply.
alter table definitions add column pin text;
alter table definitions add column described text;

-- The definition of each tool as it was accepted, and of each server its instructions, as the description of
-- a definition. A change is judged against the definition that a person accepted, or that came at first sight.
create table pins (
    tool_id integer primary key references tools (id) on delete cascade,
    definition_id integer references definitions (id), -- accepted; null: none yet
    accepted_by text, -- `first sight`, `entry` or `person`
    accepted_at integer,
    entry text, -- digest of the server's launch that it was last listed with
    changed_id integer references definitions (id), -- not accepted; null: the tool is as accepted
    verdict text,
    reason text,
    detail text,
    changed_at integer,
    is_news integer not null default 0 -- no session has reported it yet
) strict;
create index pins_by_definition on pins (definition_id) where definition_id is not null;
create index pins_by_change on pins (changed_id) where changed_id is not null;
-- Nearly empty, so that a catalog finds out quickly that a tool is as accepted.
create index pins_changed on pins (tool_id) where verdict is not null;

create trigger catalog_pin_added after insert on pins when new.verdict is not null begin
    update revisions set number = number + 1 where part = 'catalog';
end;
create trigger catalog_pin_changed after update on pins
when old.verdict is not new.verdict or old.detail is not new.detail or old.definition_id is not new.definition_id
begin
    update revisions set number = number + 1 where part = 'catalog';
end;
