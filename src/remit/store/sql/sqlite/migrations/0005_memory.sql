-- Memory is a graph. Every node except the roots has a home in the same project and is deleted with it, so there
-- are no orphans. The roots are the projects and the global root, whose project is empty.
create table memory_nodes (
    id integer primary key autoincrement,
    key text not null unique, -- its id in the API
    kind text not null check (kind in (
        'global', 'project', 'focus', 'session', 'decision', 'pattern', 'context', 'entity', 'observation'
    )),
    project text not null,
    home integer,
    home_kind text check (home_kind in ('global', 'project', 'focus')),
    name text not null, -- searchable text, like the next column
    body text not null,
    subject text not null, -- decisions on the same subject and facts about the same entity share it
    fingerprint text not null, -- of its content
    content text not null, -- as JSON
    status text not null check (status in ('live', 'superseded', 'held')),
    dated_at integer not null, -- when it was last confirmed; of a project: the time of its last hygiene check
    created_at integer not null,
    updated_at integer not null,
    -- The terms by which search filters by place; hidden nodes have none.
    place text generated always as (
        iif(status = 'live' and home is not null and kind <> 'focus', 'h' || home || ' h' || home || kind, '')
    ) virtual,
    unique (id, project),
    unique (id, project, kind),
    foreign key (home, project, home_kind) references memory_nodes (id, project, kind) on delete cascade,
    check ((home is null) = (kind in ('global', 'project'))),
    check ((home is null) = (home_kind is null)),
    check (kind <> 'focus' or home_kind = 'project'),
    check ((project = '') = (kind = 'global' or home_kind is 'global'))
) strict;

create unique index memory_roots on memory_nodes (project) where home is null;
create index memory_homes on memory_nodes (project) where kind in ('global', 'project', 'focus');
create unique index memory_focuses on memory_nodes (project, name) where kind = 'focus';
create unique index memory_entities on memory_nodes (home, subject) where kind = 'entity';
create index memory_by_home on memory_nodes (home, status, kind, created_at);
create index memory_by_fingerprint on memory_nodes (home, fingerprint);
create index memory_by_subject on memory_nodes (project, subject) where kind = 'decision';

insert into memory_nodes (
    key, kind, project, name, body, subject, fingerprint, content, status, dated_at, created_at, updated_at
) values ('global', 'global', '', '', '', '', '', '{}', 'live', 0, 0, 0);

-- Both ends belong to the project of the edge.
create table memory_edges (
    source integer not null,
    relation text not null,
    target integer not null,
    project text not null,
    properties text not null, -- as JSON
    created_at integer not null,
    primary key (source, relation, target),
    foreign key (source, project) references memory_nodes (id, project) on delete cascade,
    foreign key (target, project) references memory_nodes (id, project) on delete cascade
) strict, without rowid;
create index memory_edges_by_target on memory_edges (target);
create index memory_edges_by_relation on memory_edges (project, relation);

-- Some words of each decision, to find similar decisions without reading all.
create table memory_words (
    home integer not null,
    word text not null,
    node_id integer not null references memory_nodes (id) on delete cascade,
    primary key (home, word, node_id)
) strict, without rowid;
create index memory_words_by_node on memory_words (node_id);

create view memory_shown as select id, place, name, body from memory_nodes where place <> '';
create virtual table memory_by_word using fts5 (
    place, name, body, content = 'memory_shown', content_rowid = 'id', tokenize = 'porter unicode61'
);
insert into memory_by_word (memory_by_word, rank) values ('secure-delete', 1);

-- The model of memory's vectors, the vectors, and their signs, which are compared first.
create table memory_model (
    one integer primary key check (one = 1),
    model text not null
) strict;
create table memory_vectors (
    node_id integer primary key references memory_nodes (id) on delete cascade,
    vector blob not null -- 32-bit floats
) strict;
create table memory_codes (
    home integer not null,
    kind text not null,
    node_id integer not null references memory_nodes (id) on delete cascade,
    code blob not null,
    primary key (home, kind, node_id)
) strict, without rowid;
create index memory_codes_by_node on memory_codes (node_id);
create table memory_unread (
    node_id integer primary key references memory_nodes (id) on delete cascade
) strict;

create trigger memory_added after insert on memory_nodes when new.place <> '' begin
    insert into memory_by_word (rowid, place, name, body) values (new.id, new.place, new.name, new.body);
    insert into memory_unread (node_id) values (new.id);
end;

create trigger memory_removed after delete on memory_nodes when old.place <> '' begin
    insert into memory_by_word (memory_by_word, rowid, place, name, body)
    values ('delete', old.id, old.place, old.name, old.body);
end;

create trigger memory_changed after update of name, body, status on memory_nodes begin
    insert into memory_by_word (memory_by_word, rowid, place, name, body)
    select 'delete', old.id, old.place, old.name, old.body where old.place <> '';
    delete from memory_vectors where node_id = old.id;
    delete from memory_codes where node_id = old.id;
    delete from memory_unread where node_id = old.id;
    insert into memory_by_word (rowid, place, name, body)
    select new.id, new.place, new.name, new.body where new.place <> '';
    insert into memory_unread (node_id) select new.id where new.place <> '';
end;
