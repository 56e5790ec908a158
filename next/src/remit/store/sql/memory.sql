-- Named queries for memory. Every query about artifacts has the repository as their owner; what keeps vectors
-- current is marked, because it reads every project.

-- fragment: artifact
a.key, a.kind, m.project_id, l.focus, a.content, a.is_live, a.dated_at, a.created_at, a.updated_at

-- fragment: owned
a.place_id in (
    select l.id from places l join memory_projects m on m.id = l.memory_project where m.owner = :project
)

-- fragment: placed
from artifacts a
join places l on l.id = a.place_id
join memory_projects m on m.id = l.memory_project and m.owner = :project

-- fragment: here
a.place_id in (
    select l.id from places l join memory_projects m on m.id = l.memory_project
    where m.owner = :project and l.id in (select value from json_each(:places))
)

-- name: memory_projects
select m.project_id, m.created_at, ifnull(max(a.updated_at), m.created_at), count(a.id)
from memory_projects m
left join places l on l.memory_project = m.id
left join artifacts a on a.place_id = l.id
where m.owner = :project
group by m.id
order by m.project_id

-- name: places
select l.id, l.focus from places l join memory_projects m on m.id = l.memory_project
where m.owner = :project and m.project_id = :project_id
order by l.id

-- name: add_memory_project
insert into memory_projects (owner, project_id, created_at) values (:project, :project_id, :at)
on conflict do nothing

-- name: add_place
insert into places (memory_project, focus)
select m.id, :focus from memory_projects m where m.owner = :project and m.project_id = :project_id
on conflict do nothing

-- name: take_over_memory
update memory_projects set owner = :project
where owner = :from and project_id not in (select project_id from memory_projects where owner = :project)

-- name: delete_memory_project
delete from memory_projects where owner = :project and project_id = :project_id

-- name: add_artifact
insert into artifacts (
    key, place_id, kind, name, body, subject, fingerprint, content, dated_at, created_at, updated_at
)
select :key, l.id, :kind, :name, :body, :subject, :fingerprint, :content, :dated_at, :at, :at
from places l join memory_projects m on m.id = l.memory_project
where l.id = :place and m.owner = :project

-- name: change_artifact
update artifacts as a set
    name = :name, body = :body, fingerprint = :fingerprint, content = :content, is_embedded = 0, dated_at = :dated_at,
    updated_at = :at
where a.key = :key and {owned}

-- name: replace_artifact
update artifacts as a set is_live = 0, is_embedded = 0, updated_at = :at where a.key = :key and {owned}

-- name: delete_artifact
delete from artifacts as a where a.key = :key and {owned}

-- name: artifact_by_key
select {artifact} {placed} where a.key = :key

-- name: same_artifact
select {artifact} {placed}
where a.place_id = :place and a.fingerprint = :fingerprint and a.kind = :kind and a.is_live = 1
order by a.id
limit 1

-- name: entity
select {artifact} {placed} where a.place_id = :place and a.subject = :subject and a.kind = 'entity'

-- name: newest_artifacts
select {artifact} {placed}
where a.id in (
    select n.id from json_each(:places) p, json_each(:kinds) k, artifacts n
    where n.id in ( -- of each kind in each place
        select id from artifacts
        where place_id = p.value and kind = k.value and is_live >= :is_live and created_at >= :since
        order by created_at desc, id desc
        limit :most
    )
)
order by a.created_at desc, a.id desc
limit :most

-- name: relate
insert into relations (source_id, relation, target_id, properties)
select s.id, :relation, t.id, :properties
from artifacts s
join artifacts t on t.key = :target and t.id in (select a.id from artifacts a where {owned})
where s.key = :source and s.id in (select a.id from artifacts a where {owned})
on conflict (source_id, relation, target_id) do update set properties = excluded.properties

-- name: relations_of
select s.key, e.relation, t.key, e.properties
from relations e
join artifacts s on s.id = e.source_id
join artifacts t on t.id = e.target_id
where exists (select 1 from artifacts a where a.id in (s.id, t.id) and a.key = :key and {owned})
order by e.source_id, e.relation, e.target_id

-- name: artifacts_by_id
select a.id, {artifact} {placed} where a.id in (select value from json_each(:ids)) and a.is_live = 1

-- name: size_of_places
select count(*) from (select 1 from artifacts a where {here} and a.is_live = 1 limit :most)

-- name: word_counts (every project)
select
    j.value,
    (select count(*) from artifacts_by_word where artifacts_by_word match '"' || replace(j.value, '"', '""') || '"')
from json_each(:words) j

-- name: artifacts_by_words
select rowid, -bm25(artifacts_by_word, 0.0, 3.0, 1.0) as words
from artifacts_by_word
where artifacts_by_word match
    'terms : (' || (
        select ifnull(group_concat('"p' || l.id || k.value || '"', ' OR '), '"none"')
        from places l join memory_projects m on m.id = l.memory_project and m.owner = :project, json_each(:kinds) k
        where l.id in (select value from json_each(:places))
    ) || ') AND {name body} : (' || (
        select group_concat('"' || replace(value, '"', '""') || '"', ' OR ') from json_each(:words)
    ) || ')'
order by words desc, rowid
limit :most

-- name: artifacts_by_code
select c.artifact_id
from artifact_codes c
where c.kind in (select value from json_each(:kinds))
    and c.place_id in (
        select l.id from places l join memory_projects m on m.id = l.memory_project
        where m.owner = :project and l.id in (select value from json_each(:places))
    )
    and length(c.code) = length(:code)
order by vec_distance_hamming(vec_bit(c.code), vec_bit(:code)), c.artifact_id
limit :most

-- name: meanings
select v.artifact_id, 1 - vec_distance_cosine(v.vector, :vector)
from artifact_vectors v join artifacts a on a.id = v.artifact_id
where v.artifact_id in (select value from json_each(:ids)) and v.model = :model
    -- An endpoint may change the model behind a name.
    and length(v.vector) = length(:vector) and {owned}

-- name: other_vectors (every project)
select
    (select model from artifact_vectors order by model, length(vector) limit 1),
    (select model from artifact_vectors order by model desc, length(vector) desc limit 1)

-- name: forget_vectors (every project)
delete from artifact_vectors

-- name: forget_codes (every project)
delete from artifact_codes

-- name: embed_all_again (every project)
update artifacts set is_embedded = 0 where is_embedded = 1

-- name: unread_artifacts (every project)
select id, name, body from artifacts where is_embedded = 0 and is_live = 1 order by id limit :most

-- name: add_vector (every project)
insert into artifact_vectors (artifact_id, model, vector)
select id, :model, :vector from artifacts where id = :artifact and is_live = 1
on conflict (artifact_id) do update set model = excluded.model, vector = excluded.vector

-- name: add_code (every project)
insert into artifact_codes (place_id, kind, artifact_id, code)
select place_id, kind, id, :code from artifacts where id = :artifact and is_live = 1
on conflict (place_id, kind, artifact_id) do update set code = excluded.code

-- name: mark_embedded (every project)
update artifacts set is_embedded = 1 where id = :artifact

-- name: vector_of_other_length (every project)
select 1 from artifact_vectors where model = :model and length(vector) <> :length limit 1
