-- Named queries for the log of calls.

-- fragment: call
called_at, endpoint, client, agent, caller, tool, verdict, gate, outcome, duration_ms, bytes_in, bytes_out, session,
call_id

-- fragment: selected
project_hash = :project
    and (:text = '' or instr(lower(tool), lower(:text)) > 0)
    and (:agent is null or ifnull(agent, '') = :agent)
    and (:outcome is null or outcome = :outcome)
    and (:caller is null or caller = :caller)
    and (:session is null or session = :session)
    and (:since is null or called_at >= :since)
    and (:until is null or called_at < :until)

-- name: log_call
insert into calls (project_hash, {call})
values (
    :project, :called_at, :endpoint, :client, :agent, :caller, :tool, :verdict, :gate, :outcome, :duration_ms,
    :bytes_in, :bytes_out, :session, :call_id
)
on conflict (project_hash, client, call_id) where call_id is not null do update set
    -- Hook and gateway each know a part of one call.
    agent = ifnull(agent, excluded.agent), session = ifnull(session, excluded.session),
    caller = ifnull(caller, excluded.caller), duration_ms = max(duration_ms, excluded.duration_ms),
    bytes_in = max(bytes_in, excluded.bytes_in), bytes_out = max(bytes_out, excluded.bytes_out),
    outcome = iif({is_use}, outcome, excluded.outcome),
    verdict = iif(verdict = '', excluded.verdict, verdict), gate = ifnull(gate, excluded.gate)

-- name: logged_calls
select client, call_id, outcome from calls
where project_hash = :project and call_id in (select value from json_each(:ids))

-- name: find_calls
select {call} from calls
where {selected}
order by called_at desc, id desc
limit :limit offset :offset

-- name: span_of_calls
select count(*), min(called_at), max(called_at) from calls where {selected}

-- name: bars_of_calls
select
    called_at - called_at % :step as start, count(*),
    count(*) filter (where outcome in ('failed', 'error', 'unreachable')), count(*) filter (where outcome = 'refused')
from calls
where {selected}
group by start
order by start

-- name: agents_of_calls
select distinct agent from calls where project_hash = :project and agent is not null order by agent limit 100

-- name: old_calls (every project)
select p.hash, -- with the first young call, the last call, and the last one beyond the newest
    (select c.id from calls c where c.project_hash = p.hash and c.called_at >= :before order by c.id limit 1),
    (select c.id from calls c where c.project_hash = p.hash order by c.id desc limit 1),
    (select c.id from calls c where c.project_hash = p.hash order by c.id desc limit 1 offset :most)
from projects p

-- name: prune_calls
delete from calls where project_hash = :project and id < :first
