-- Named queries of PostgreSQL for the search of memory.

-- fragment: these_homes
any (cast(:homes as bigint[]))

-- name: memory_statistics
select count(*), ifnull(sum(size), 0) from memory_texts where home = {these_homes}

-- name: memory_without_terms (every project)
select n.id, n.name, n.body
from memory_without_terms w
join memory_nodes n on n.id = w.node_id
order by n.id
limit :most
for update of w skip locked

-- name: memory_add_terms (every project)
with given as (
    select * from unnest(cast(:texts as bigint[]), cast(:sizes as integer[])) as g (id, size)
), queued as (
    delete from memory_without_terms where node_id in (select id from given) returning node_id
), indexed as (
    insert into memory_texts (node_id, home, size)
    select n.id, n.home, g.size
    from memory_nodes n
    join queued q on q.node_id = n.id
    join given g on g.id = n.id
    where n.is_shown
    returning node_id, home, size
)
insert into memory_terms (home, term, node_id, weight, size)
select i.home, t.term, i.node_id, t.weight, i.size
from unnest(
    cast(:owners as bigint[]), array(select jsonb_array_elements_text(cast(:terms as jsonb))), cast(:weights as real[])
) as t (id, term, weight)
join indexed i on i.node_id = t.id

-- name: memory_term_counts
select a.value, (
    select count(*) from (
        select 1 from memory_terms t where t.home = {these_homes} and t.term = a.value limit :most
    ) counted
)
from json_each(:terms) a

-- name: memory_by_words
with asked as (
    select * from unnest(
        array(select value from json_each(:terms)), array(select cast(value as real) from json_each(:weights))
    ) as a (term, weight)
), found as materialized (
    select term, node_id, weight, size
    from memory_terms
    where home = {these_homes} and term = any (array(select value from json_each(:terms)))
), rarities as (
    select term, greatest(ln((cast(:count as double precision) - count(*) + 0.5) / (count(*) + 0.5)), 1e-6) as rarity
    from found
    group by term
)
select
    f.node_id,
    sum(
        a.weight * r.rarity * f.weight * 2.2
        / (f.weight + 1.2 * (0.25 + 0.75 * cast(f.size as double precision) / cast(:average as double precision)))
    ) as words
from found f
join asked a using (term)
join rarities r using (term)
where cast(:kinds as text) is null
    or f.node_id in (
        select id from memory_nodes
        where home = {these_homes} and kind in (select value from json_each(:kinds))
    )
group by f.node_id
order by words desc, f.node_id
limit :most

-- name: memory_by_meaning
with near as materialized (
    select node_id
    from memory_vectors
    where home = {these_homes} and length(code) = vector_dims(:vector)
        and (cast(:kinds as text) is null or kind = any (array(select value from json_each(:kinds))))
    order by code <~> binary_quantize(:vector), node_id
    limit :most
)
select node_id, iif(length(code) = vector_dims(:vector), - (vector <#> :vector), null)
from memory_vectors
where node_id = any (array(select node_id from near) || cast(:found as bigint[]))

-- name: memory_vector_length (every project)
select length(vector) from memory_vectors limit 1

-- name: memory_add_vector (every project)
insert into memory_vectors (node_id, home, kind, vector)
select id, home, kind, :vector from memory_nodes where id = :node and is_shown
on conflict (node_id) do update set vector = excluded.vector

-- name: memory_read_all_again (every project)
insert into memory_unread (node_id)
select id from memory_nodes where is_shown on conflict do nothing
