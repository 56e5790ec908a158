-- Named queries for memory. The caller passes the homes it may read: those of a project, and the global one.

-- fragment: kept
n.key, n.kind, n.project, iif(n.home_kind = 'focus', h.name, null), n.content, n.status, n.dated_at, n.created_at,
n.updated_at

-- fragment: an_artifact
n.kind not in ('global', 'project', 'focus')

-- name: memory_root
select id from memory_nodes where project = :project and home is null

-- name: memory_homes
select id, kind, iif(kind = 'focus', name, null) from memory_nodes
where project = :project and kind in ('global', 'project', 'focus')
order by id

-- name: memory_projects (every project)
select n.project, n.created_at, ifnull(a.updated_at, n.updated_at), ifnull(a.artifacts, 0)
from memory_nodes n
left join (
    select n.project, max(n.updated_at) as updated_at, count(*) as artifacts
    from memory_nodes n where {an_artifact} group by n.project
) a on a.project = n.project
where n.home is null and n.kind = 'project'
order by n.project

-- name: memory_add
insert into memory_nodes (
    key, kind, project, home, home_kind, name, body, subject, fingerprint, content, status, dated_at, created_at,
    updated_at
) values (
    :key, :kind, :project, :home, :home_kind, :name, :body, :subject, :fingerprint, :content, :status, :dated_at,
    :created_at, :updated_at
)
returning id

-- name: memory_add_word
insert into memory_words (home, word, node_id) values (:home, :word, :node)

-- name: memory_by_key
select {kept}, n.home
from memory_nodes n
join memory_nodes h on h.id = n.home
where n.key = :key and n.project = :project and {an_artifact}

-- name: memory_key_known (every project)
select project, kind from memory_nodes where key = :key

-- name: memory_same
select key, status from memory_nodes
where home = :home and project = :project and fingerprint = :fingerprint and kind = :kind and status <> 'superseded'
order by id
limit 1

-- name: memory_sharing
select w.node_id, w.shared, (select count(*) from memory_words o where o.node_id = w.node_id)
from (
    select node_id, count(*) as shared
    from memory_words
    where home = :home and word in (select value from json_each(:words))
    group by node_id
    order by shared desc, node_id desc
    limit :most
) w

-- name: memory_live_texts
select key, name || ' ' || body
from memory_nodes
where id in (select cast(value as bigint) from json_each(:nodes)) and project = :project and status = 'live'
order by id desc

-- name: memory_on_subject
select key, name from memory_nodes
where project = :project and subject = :subject and kind = 'decision' and status = 'live'
    and home in (select cast(value as bigint) from json_each(:homes))

-- name: memory_set_status
update memory_nodes set status = :status, updated_at = :at where key = :key and project = :project

-- name: memory_entity
select key from memory_nodes where home = :home and project = :project and subject = :subject and kind = 'entity'

-- name: memory_change
update memory_nodes set
    name = :name, body = :body, fingerprint = :fingerprint, content = :content, dated_at = :at, updated_at = :at
where key = :key and project = :project

-- name: memory_relate
insert into memory_edges (source, relation, target, project, properties, created_at)
select s.id, :relation, t.id, :project, :properties, :at
from memory_nodes s, memory_nodes t
where s.key = :source and t.key = :target and s.project = :project and t.project = :project
on conflict (source, relation, target) do update set properties = excluded.properties

-- name: memory_conflicts
select s.key, t.key
from memory_edges e
join memory_nodes s on s.id = e.source and s.status = 'live'
join memory_nodes t on t.id = e.target and t.status = 'live'
where e.project = :project and e.relation = 'CONFLICTS_WITH' and s.kind = 'decision' and t.kind = 'decision'
    and (s.key in (select value from json_each(:keys)) or t.key in (select value from json_each(:keys)))
order by e.source, e.target

-- name: memory_edges_of
select s.key, e.relation, t.key, e.properties, e.created_at
from memory_edges e
join memory_nodes s on s.id = e.source
join memory_nodes t on t.id = e.target
where e.project = :project and (
    e.source in (select id from memory_nodes where key = :key)
    or e.target in (select id from memory_nodes where key = :key)
)
order by e.source, e.relation, e.target

-- name: memory_newest
select {kept}
from memory_nodes n
join memory_nodes h on h.id = n.home
where n.home = :home and n.project = :project and n.status = 'live' and n.kind = :kind and n.created_at >= :since
    and (cast(:subject as text) is null or n.subject = :subject)
order by n.created_at desc, n.id desc
limit :most

-- name: memory_artifacts
select {kept}
from memory_nodes n
join memory_nodes h on h.id = n.home
where n.project = :project and n.home in (select cast(value as bigint) from json_each(:homes)) and {an_artifact}
    and (:everything = 1 or n.status = 'live')
order by n.created_at desc, n.id desc
limit :most

-- name: memory_size
select count(*) from (
    select 1 from memory_nodes
    where home in (select cast(value as bigint) from json_each(:homes)) and status = 'live' limit :most
)

-- name: memory_word_count
select count(*) from memory_by_word where memory_by_word match :match

-- name: memory_among
select id from memory_nodes
where id in (select cast(value as bigint) from json_each(:nodes))
    and +home in (select cast(value as bigint) from json_each(:homes)) -- plus: the index would read whole homes
    and +kind in (select value from json_each(:kinds))

-- name: memory_by_words
select rowid, -bm25(memory_by_word, 0.0, 3.0, 1.0) as words
from memory_by_word
where memory_by_word match :match
order by words desc, rowid
limit :most

-- name: memory_code_length
select length(code) from memory_codes limit 1

-- name: memory_codes_state
select model, (select length(code) from memory_codes limit 1), round from memory_model

-- name: memory_codes_since
select kind, node_id, code, round from memory_codes where home = :home and round > :round

-- name: memory_by_code
select node_id
from memory_codes
where home in (select cast(value as bigint) from json_each(:homes)) and kind in (select value from json_each(:kinds))
order by vec_distance_hamming(vec_bit(code), vec_bit(:code)), node_id
limit :most

-- name: memory_meanings
select node_id, iif(length(vector) = length(:vector), 1 - vec_distance_cosine(vector, :vector), null)
from memory_vectors
where node_id in (select cast(value as bigint) from json_each(:nodes))

-- name: memory_by_ids
select n.id, {kept}
from memory_nodes n
join memory_nodes h on h.id = n.home
where n.id in (select cast(value as bigint) from json_each(:nodes)) and n.project in ('', :project)
    and n.status = 'live'

-- name: memory_model
select model from memory_model

-- name: memory_change_model
insert into memory_model (one, model) values (1, :model) on conflict (one) do update set model = excluded.model

-- name: memory_next_round
update memory_model set round = round + 1

-- name: memory_forget_vectors (every project)
delete from memory_vectors

-- name: memory_forget_codes
delete from memory_codes

-- name: memory_read_all_again (every project)
insert into memory_unread (node_id)
select id from memory_nodes where place <> '' on conflict do nothing

-- name: memory_unread (every project)
select n.id, n.name, n.body
from memory_unread u
join memory_nodes n on n.id = u.node_id
order by u.node_id
limit :most

-- name: memory_add_vector (every project)
insert into memory_vectors (node_id, vector)
select id, :vector from memory_nodes where id = :node and place <> ''
on conflict (node_id) do update set vector = excluded.vector

-- name: memory_add_code
insert into memory_codes (home, kind, node_id, code, round)
select home, kind, id, :code, (select round from memory_model) from memory_nodes where id = :node and place <> ''
on conflict (home, kind, node_id) do update set code = excluded.code, round = excluded.round

-- name: memory_mark_read (every project)
delete from memory_unread where node_id = :node

-- name: memory_delete_project
delete from memory_nodes where project = :project and home is null and kind = 'project'

-- name: memory_delete_artifact
delete from memory_nodes as n where n.key = :key and n.project = :project and {an_artifact}

-- name: memory_count
select count(*) from memory_nodes n where n.project = :project and {an_artifact}

-- name: memory_checked
select
    n.key, iif(n.kind = 'focus', null, n.kind), n.home, n.status, n.subject, n.fingerprint, n.dated_at,
    iif(n.kind = 'focus', (select count(*) from memory_nodes m where m.home = n.id), 0)
from memory_nodes n
where n.project = :project and n.home is not null
    and (n.home in (select cast(value as bigint) from json_each(:homes)) or n.id in (select cast(value as bigint) from json_each(:homes)))
order by n.id

-- name: memory_dangling
select s.key
from memory_edges e
join memory_nodes s on s.id = e.source and s.status = 'live'
join memory_nodes t on t.id = e.target and t.status <> 'live'
where e.project = :project and e.relation not in ('SUPERSEDES', 'CONFLICTS_WITH')
group by s.id
order by s.id

-- name: memory_mark_checked
update memory_nodes set dated_at = :at where project = :project and home is null

-- name: memory_checked_at
select dated_at from memory_nodes where project = :project and home is null

-- name: memory_all_nodes (every project unless one is given)
select n.key, n.kind, n.project, iif(n.home_kind = 'focus', h.name, null), n.name, n.content, n.status, n.dated_at,
    n.created_at, n.updated_at
from memory_nodes n
left join memory_nodes h on h.id = n.home
where n.kind <> 'global' and (cast(:project as text) is null or n.project = :project)
order by n.id

-- name: memory_all_edges (every project unless one is given)
select s.key, e.relation, t.key, e.project, e.properties, e.created_at
from memory_edges e
join memory_nodes s on s.id = e.source
join memory_nodes t on t.id = e.target
where cast(:project as text) is null or e.project = :project
order by e.source, e.relation, e.target
