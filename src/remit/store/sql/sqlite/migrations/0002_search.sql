-- The searchable text of tools, stored once by content: definitions and tools may share a document. Filled by
-- searches and scans, so recording a use stays fast.
create table documents (
    id integer primary key autoincrement, -- never reused: a vector may arrive after its document was deleted
    digest text not null unique,
    document text not null, -- as JSON, for embedding models
    name text not null, -- columns of the word index, with identifiers split into words
    server text not null,
    body text not null,
    params text not null,
    details text not null
) strict;

alter table definitions add column document_id integer references documents (id);
alter table tools add column document_id integer references documents (id); -- built from its name alone
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

-- The vectors of documents by model; vectors of different models are never compared.
create table vectors (
    model text not null,
    document_id integer not null references documents (id) on delete cascade,
    vector blob not null, -- 32-bit floats
    primary key (model, document_id)
) strict, without rowid;
create index vectors_by_document on vectors (document_id);
