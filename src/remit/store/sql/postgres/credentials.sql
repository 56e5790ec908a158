-- Named queries for the credentials of principals, which SQLite does not keep: one machine keeps them in a file.

-- name: find_credential
select principal, server, target, project_hash, key_id, sealed, created_at from credentials
where principal = :principal and server = :server and project_hash is not distinct from :project::text

-- name: credentials (every project)
select principal, server, target, project_hash, key_id, sealed, created_at from credentials
order by principal, server, project_hash

-- name: save_credential
insert into credentials (principal, server, target, project_hash, key_id, sealed, created_at)
values (:principal, :server, :target, :project, :key_id, :sealed, :at)
on conflict (principal, server, project_hash) do update set
    target = excluded.target, key_id = excluded.key_id, sealed = excluded.sealed, created_at = excluded.created_at

-- name: reseal_credential
update credentials set key_id = :key_id, sealed = :sealed
where principal = :principal and server = :server and project_hash is not distinct from :project::text
    and sealed = :sealed_before
returning 1

-- name: remove_credentials (every project)
delete from credentials where principal = :principal and server = coalesce(:server::text, server) returning 1

-- name: forget_credentials (every project)
delete from credentials where project_hash = :of_project
