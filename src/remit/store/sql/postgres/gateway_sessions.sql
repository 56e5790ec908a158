-- Named queries for sessions that move between gateways, which SQLite does not keep: one machine has one gateway.

-- name: session_keys (every project)
select id, key, created_at from session_keys order by created_at desc, id

-- name: add_session_key (every project)
insert into session_keys (id, key, created_at)
select :id, :key, :at where not exists (select 1 from session_keys where created_at > :since)

-- name: drop_session_keys (every project)
delete from session_keys where created_at < :before

-- name: bind_session (every project)
insert into bound_sessions (digest, bound_at) values (:digest, :at) on conflict (digest) do nothing

-- name: fixed_session (every project)
select 1 from bound_sessions where digest = :digest
union all
select 1 from ended_sessions where digest = :digest

-- name: drop_bound_sessions (every project)
delete from bound_sessions where bound_at < :before

-- name: end_session (every project)
insert into ended_sessions (digest, ended_at) values (:digest, :at) on conflict (digest) do nothing returning digest

-- name: ended_sessions (every project)
select digest from ended_sessions where digest in (select value from json_each(:digests))

-- name: drop_ended_sessions (every project)
delete from ended_sessions where ended_at < :before
