-- Named queries for the vectors of tools, by the content of their documents. All are over every project.

-- name: vectors (every project)
select digest, vector from vectors where model = :model and digest in (select value from json_each(:digests))

-- name: forget_other_lengths (every project)
delete from vectors where model = :model and length(vector) <> :length

-- name: keep_vector (every project)
insert into vectors (model, digest, vector) values (:model, :digest, :vector)
on conflict do nothing
