-- Named queries of PostgreSQL for search. Word scores are FTS5's BM25, with the statistics of the workspace's own documents.

-- fragment: ids_of_documents
cast(:documents as bigint[])

-- fragment: json_documents
select {columns_of_documents}
from jsonb_to_recordset(cast(replace(:documents, '\u0000', '\ufffd') as jsonb)) as j (
    digest text, document text, name text, server text, body text, params text, details text
)

-- fragment: json_listed
select tool, definition from jsonb_to_recordset(cast(:listed as jsonb)) as j (tool bigint, definition bigint)

-- fragment: json_owners
select id, document from jsonb_to_recordset(cast(:owners as jsonb)) as j (id bigint, document bigint)

-- name: refresh_statistics
select refresh_statistics()

-- name: documents_in_scope
select o.id, o.size from documents o where o.id in ({documents_here})

-- name: documents_without_terms (every project)
select id, name, server, body, params, details from documents
where size is null
order by id
limit :most
for update skip locked

-- name: add_document_terms (every project)
with indexed as (
    update documents d set size = g.size
    from unnest(cast(:texts as bigint[]), cast(:sizes as integer[])) as g (id, size)
    where d.id = g.id and d.size is null
    returning d.id, d.size
)
insert into document_terms (term, document_id, weight, size)
select t.term, i.id, t.weight, i.size
from unnest(
    cast(:owners as bigint[]), array(select jsonb_array_elements_text(cast(:terms as jsonb))), cast(:weights as real[])
) as t (id, term, weight)
join indexed i using (id)

-- name: documents_by_words
with asked as (
    select * from unnest(
        array(select value from json_each(:terms)), array(select cast(value as real) from json_each(:weights))
    ) as a (term, weight)
), found as materialized (
    select term, document_id, weight, size
    from document_terms
    where term = any (array(select value from json_each(:terms)))
        -- Not `= any`, here and below: a prepared query would compare each row with each id.
        and document_id in (select unnest(cast(:known as bigint[])))
), rarities as (
    select term, greatest(ln((cast(:count as double precision) - count(*) + 0.5) / (count(*) + 0.5)), 1e-6) as rarity
    from found
    group by term
)
select
    f.document_id,
    sum(
        a.weight * r.rarity * f.weight * 2.2
        / (f.weight + 1.2 * (0.25 + 0.75 * cast(f.size as double precision) / cast(:average as double precision)))
    ) as words,
    count(*) filter (where f.term = any (array(select value from json_each(:quote)))) as quoted
from found f
join asked a using (term)
join rarities r using (term)
where cast(:among as text) is null or f.document_id in (select unnest(cast(:among as bigint[])))
group by f.document_id
order by words desc, f.document_id
limit :most

-- name: documents_containing
select d.id
from unnest({ids_of_documents}) as d (id)
where not exists (
    select 1 from json_each(:terms) a
    where not exists (select 1 from document_terms t where t.term = a.value and t.document_id = d.id)
)

-- name: documents_by_meaning
select document_id, - (vector <#> :vector) as meaning
from vectors
where model = :model and length(vector) = length(:vector) and document_id in (select unnest({ids_of_documents}))
order by meaning desc, document_id
limit :most

-- name: meanings_of_documents
select document_id, - (vector <#> :vector)
from vectors
where model = :model and length(vector) = length(:vector) and document_id in (select unnest({ids_of_documents}))

-- name: indexed_documents
select o.id, o.name, o.server, o.body, o.params, o.details, vector_send(v.vector)
from documents o
left join vectors v on v.document_id = o.id and v.model = :model
where o.id in ({documents_here})
order by o.id
