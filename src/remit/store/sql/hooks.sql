-- Named queries for hooks: the decision cache, sessions and transcripts.

-- name: decision_inputs
with here (id, client) as materialized (
    select id, client from views
    where workspace = :workspace and project_hash = :project and flags = :flags and client = :client
)
select
    t.name, t.kind, t.scope, t.project_hash, t.dir, t.server, s.plugin, t.agent, t.profile,
    ifnull(r.source, t.source), t.authority, r.config_status, w.scope, wr.source, t.digest, t.is_unlisted,
    s.listed_at is null, s.listed_digest <> s.digest, k.digest = s.digest, d.danger, d.digest, t.server_id is not null,
    p.definition_id, p.verdict
from tools t
join tools s on s.id = ifnull(t.server_id, t.id)
left join trust k on k.tool_id = s.id
left join here v on v.client = t.client
left join resolutions r on r.view_id = v.id and r.tool_id = ifnull(t.server_id, t.id)
left join tools w on w.id = r.shadowed_by
left join resolutions wr on wr.view_id = v.id and wr.tool_id = r.shadowed_by
left join sightings x on x.tool_id = t.id and x.project_hash = :project
left join definitions d on d.id = ifnull(t.definition_id, x.definition_id)
left join pins p on p.tool_id = t.id
where t.name in (select value from json_each(:names)) and t.client = :client and {known_here}
order by t.id

-- name: cached_decision
select answer from judgements
where workspace = :workspace and subject = :subject and project_hash = :project and mark = :mark

-- name: cache_decision (every project)
insert into judgements (workspace, subject, project_hash, mark, answer, judged_at)
values (:workspace, :subject, :project, :mark, :answer, :at)
on conflict (workspace, subject) do update set
    project_hash = excluded.project_hash, mark = excluded.mark, answer = excluded.answer, judged_at = excluded.judged_at

-- name: forget_old_decisions (every project)
delete from judgements where judged_at < :before

-- name: tool_known
select 1 from tools t where t.name = :name and t.client = :client and {known_here} limit 1

-- name: observing
select observes from configurations where workspace = :workspace and project_hash = :project

-- name: begin_session
insert into sessions (client, session_id, project_hash, started_at, states, transcript)
values (:client, :session_id, :project, :at, :states, :transcript)
on conflict (project_hash, client, session_id) do update set
    ended_at = null, states = iif(:states = '', sessions.states, excluded.states),
    read_to = iif(sessions.transcript is not distinct from excluded.transcript, sessions.read_to, 0),
    transcript = excluded.transcript

-- name: end_session
insert into sessions (client, session_id, project_hash, started_at, ended_at, states)
values (:client, :session_id, :project, :at, :at, '')
on conflict (project_hash, client, session_id) do update set ended_at = excluded.ended_at

-- name: suggestions_in_session
select count(*), max(s.suggested_at),
    (
        select count(*) from usage_events e
        where e.session_id = :session_id and e.project_hash = :project
            and e.used_at > (select max(o.suggested_at) from suggestions o where o.session_id = :session_id)
    )
from suggestions s
where s.session_id = :session_id and s.project_hash = :project and s.client = :client

-- name: unread_transcripts
select session_id, transcript, read_to, started_at from sessions
where project_hash = :project and client = :client and transcript is not null
    and (session_id = :session_id or (cast(:session_id as text) is null and ended_at is null and started_at > :since))
order by started_at desc
limit :most

-- name: mark_transcript_read
update sessions set read_to = :read_to
where project_hash = :project and client = :client and session_id = :session_id

-- name: reported_call_ids
select call_id from usage_events
where project_hash = :project and client = :client and session_id = :session_id and call_id is not null
union all
select call_id from reported_calls
where project_hash = :project and client = :client and session_id = :session_id

-- name: mark_trace_remembered
update traces set artifact = :artifact, is_news = 0
where id = :trace and project_hash = :project and times = :times and left_at = :at

-- name: retention
select retention from configurations where workspace = :workspace and project_hash = :project

-- name: forget_old_events
delete from usage_events where project_hash = :project and used_at < :before

-- name: forget_old_sessions
delete from sessions where project_hash = :project and started_at < :before

-- name: forget_old_suggestions
delete from suggestions where project_hash = :project and suggested_at < :before

-- name: forget_old_reports
delete from reported_calls where project_hash = :project and told_at < :before

-- name: forget_old_traces
delete from traces where project_hash = :project and left_at < :before

-- name: add_prompted_call
insert into prompted_calls (project_hash, client, call_id, tool, arguments, prompted_at)
values (:project, :client, :call_id, :tool, :arguments, :at)
on conflict (project_hash, client, call_id) do update set
    tool = excluded.tool, arguments = excluded.arguments, prompted_at = excluded.prompted_at

-- name: forget_old_prompted_calls
delete from prompted_calls where project_hash = :project and prompted_at < :before
