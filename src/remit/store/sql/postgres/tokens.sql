-- Named queries for the tokens of gateways, which SQLite does not keep: one machine keeps them in a file.

-- name: tokens
select name, digest, projects, agents, created_at, role from tokens order by created_at, name

-- name: add_token
insert into tokens (name, digest, projects, agents, role, created_at)
values (:name, :digest, :projects, :agents, :role, :at)
on conflict (name) do nothing
returning 1

-- name: revoke_token
delete from tokens where name = :name returning 1
