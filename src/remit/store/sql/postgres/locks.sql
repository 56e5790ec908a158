-- Named queries of PostgreSQL for locks that one process holds for as long as its connection lives.

-- fragment: own_locks
select (cast(classid as bigint) << 32) | cast(objid as bigint) from pg_locks
where locktype = 'advisory' and objsubid = 1 and pid = pg_backend_pid() and granted

-- name: held_locks (every project)
{own_locks}

-- name: take_lock (every project)
select
    k.key,
    -- A new connection holds nothing, unless a pooler gave it the connection of another process.
    case when k.key in ({own_locks}) then false else pg_try_advisory_lock(k.key) end
from (select hashtextextended(:name, 22) as key) k

-- name: release_lock (every project)
select pg_advisory_unlock(:key)

-- fragment: piece_of_work
hashtextextended(:work || ' ' || i.id, 23)

-- name: claim_work (every project)
select i.id from unnest(cast(:ids as bigint[])) as i (id) where pg_try_advisory_lock({piece_of_work})

-- name: release_work (every project)
select pg_advisory_unlock({piece_of_work}) from unnest(cast(:ids as bigint[])) as i (id)
