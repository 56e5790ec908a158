-- What search reads of a tool, once by content: many definitions and tools may share one. Filled in when
-- something is searched or scanned, so that recording a use stays quick.
create table documents (
    id integer primary key autoincrement, -- never used again: a vector may arrive after its document is gone
    digest text not null unique,
    document text not null, -- as JSON, for models to read
    name text not null, -- the columns that are indexed by word, with identifiers written as words
    server text not null,
    body text not null,
    params text not null,
    details text not null
) strict;

alter table definitions add column document_id integer references documents (id);
alter table tools add column document_id integer references documents (id); -- by its name alone
create index definitions_unread on definitions (id) where document_id is null;
create index definitions_by_document on definitions (document_id) where document_id is not null;
create index tools_unread on tools (id) where document_id is null and definition_id is null;
create index tools_by_document on tools (document_id) where document_id is not null;

create virtual table documents_by_word using fts5 (
    name, server, body, params, details, content = 'documents', content_rowid = 'id', tokenize = 'porter unicode61'
);

insert into documents_by_word (documents_by_word, rank) values ('secure-delete', 1);

create trigger document_added after insert on documents begin
    insert into documents_by_word (rowid, name, server, body, params, details)
    values (new.id, new.name, new.server, new.body, new.params, new.details);
end;

create trigger document_removed after delete on documents begin
    insert into documents_by_word (documents_by_word, rowid, name, server, body, params, details)
    values ('delete', old.id, old.name, old.server, old.body, old.params, old.details);
end;

create trigger document_changed after update of name, server, body, params, details on documents begin
    insert into documents_by_word (documents_by_word, rowid, name, server, body, params, details)
    values ('delete', old.id, old.name, old.server, old.body, old.params, old.details);
    insert into documents_by_word (rowid, name, server, body, params, details)
    values (new.id, new.name, new.server, new.body, new.params, new.details);
end;

-- A document's meaning to one model; vectors of different models are never compared.
create table vectors (
    model text not null,
    document_id integer not null references documents (id) on delete cascade,
    vector blob not null, -- numbers of 32 bits
    primary key (model, document_id)
) strict, without rowid;
create index vectors_by_document on vectors (document_id);
