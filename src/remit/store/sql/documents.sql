-- Named queries for search: documents, vectors and similar tools.

-- fragment: documents_here
select ifnull(d.document_id, t.document_id)
from tools t
left join sightings x on x.tool_id = t.id and x.project_hash = :project
left join definitions d on d.id = ifnull(t.definition_id, x.definition_id)
where {known_here}

-- name: definitions_without_document (every project)
select id, name, server, tool, title, description, input_schema from definitions
where document_id is null and id > :after
order by id
limit :most

-- name: tools_without_document
select t.id, t.name, t.server
from tools t
where t.id > :after and t.document_id is null and t.definition_id is null and {known_here}
order by t.id
limit :most

-- fragment: columns_of_documents
digest, document, name, server, body, params, details

-- fragment: json_documents
select
    value ->> 'digest' as digest, value ->> 'document' as document, value ->> 'name' as name, value ->> 'server' as server,
    value ->> 'body' as body, value ->> 'params' as params, value ->> 'details' as details
from json_each(:documents)

-- fragment: json_owners
select value ->> 'id' as id, value ->> 'document' as document from json_each(:owners)

-- name: add_documents (every project)
insert into documents ({columns_of_documents})
select {columns_of_documents} from ({json_documents}) g
where true -- SQLite's grammar needs it before `on conflict`
order by digest -- so that two processes that add the same ones wait for each other in one order
on conflict (digest) do update set digest = excluded.digest

-- name: refresh_statistics
select 1 -- SQLite's planner does without

-- name: known_documents (every project)
select digest, id from documents where digest in (select value from json_each(:digests))

-- name: set_definition_documents (every project)
update definitions set document_id = g.document from ({json_owners}) g where definitions.id = g.id

-- name: set_tool_documents
update tools set document_id = g.document from ({json_owners}) g where tools.id = g.id

-- name: forget_unused_documents (every project)
delete from documents
where not exists (select 1 from definitions d where d.document_id = documents.id)
    and not exists (select 1 from tools t where t.document_id = documents.id)

-- name: documents_without_vector
select o.id, o.document
from documents o
where o.id in ({documents_here})
    and not exists (select 1 from vectors v where v.model = :model and v.document_id = o.id)
order by o.id

-- name: embedded_documents (every project)
select document_id from vectors
where model = :model and document_id in (select cast(value as bigint) from json_each(:documents))

-- name: first_vector (every project)
select document_id from vectors where model = :model limit 1

-- name: forget_other_vectors (every project)
delete from vectors
where model = :model and length(vector) <> :length
    and :length <> (select length(vector) from vectors where model = :model limit 1)

-- name: add_vector (every project)
insert into vectors (model, document_id, vector)
select :model, id, :vector from documents where id = :document
on conflict do nothing

-- name: prepare_selections
create table if not exists temp.selected (
    selection integer not null, document_id integer not null, primary key (selection, document_id)
) without rowid

-- name: select_documents
insert into temp.selected (selection, document_id)
select distinct :among, value from json_each(:documents)
where value in ({documents_here})

-- name: drop_selection
delete from temp.selected where selection = :among

-- name: documents_by_words
select rowid, -bm25(documents_by_word, 3.0, 1.0, 1.0, 0.5, 0.25) as words
from documents_by_word
where documents_by_word match :match
    -- The plus, here and below, disables the index: looking up the selected rows one by one is several times slower.
    and +rowid in (select document_id from temp.selected where selection = :among)
order by words desc, rowid
limit :most

-- name: documents_containing
select rowid
from documents_by_word
where documents_by_word match :match
    and +rowid in (select document_id from temp.selected where selection = :among)

-- name: documents_by_meaning
select document_id, 1 - vec_distance_cosine(vector, :vector) as meaning
from vectors
where model = :model
    -- An endpoint may change the model behind a name, so ignore vectors of another length.
    and length(vector) = length(:vector)
    and +document_id in (select document_id from temp.selected where selection = :among)
order by meaning desc, document_id
limit :most

-- name: meanings_of_documents
select document_id, 1 - vec_distance_cosine(vector, :vector)
from vectors
where model = :model and length(vector) = length(:vector)
    and document_id in (select cast(value as bigint) from json_each(:documents))

-- name: indexed_documents (every project)
select o.id, o.name, o.server, o.body, o.params, o.details, v.vector
from documents o
left join vectors v on v.document_id = o.id and v.model = :model
order by o.id
