-- Named queries. A name in braces stands for a fragment; `{in_scope}` is the one place of the scope rule in SQL.

-- fragment: documents_here
select ifnull(d.document_id, t.document_id)
from tools t
left join sightings x on x.tool_id = t.id and x.project_hash = :project
left join definitions d on d.id = ifnull(t.definition_id, x.definition_id)
where {in_scope}

-- fragment: in_scope
(t.scope in ('global', 'managed')
 or (t.scope in ('local', 'dynamic') and t.project_hash = :project)
 or (t.scope = 'project' and t.project_hash = :project and t.dir in (select value from json_each(:reach)))
 or (t.scope = 'plugin' and (t.project_hash is null or t.project_hash = :project)))

-- name: catalog
with here (id, client) as materialized (
    select id, client from views
    where workspace = :workspace and project_hash = :project and flags = :flags
),
used (tool_id, uses, last_used_at, outcomes) as (
    select owner, sum(uses), max(last_used_at), max(outcomes)
    from (
        select tool_id as owner, uses, last_used_at, iif(project_hash = :project, outcomes, '') as outcomes
        from usage_totals
        union all
        select o.server_id, u.uses, u.last_used_at, ''
        from usage_totals u join tools o on o.id = u.tool_id
        where o.server_id is not null
    )
    group by owner
)
select
    t.name, t.kind, t.client, t.scope, t.project_hash, t.dir, t.server, s.plugin, t.agent, t.profile,
    ifnull(r.source, t.source), t.authority, r.config_status, w.scope, wr.source,
    d.description, ifnull(u.uses, 0), u.last_used_at, t.discovered_at, t.updated_at, t.endpoint, d.tokens,
    ifnull(u.outcomes, ''), t.digest, t.is_unlisted, s.listed_at, s.listed_digest <> s.digest, k.digest = s.digest,
    iif(t.failed_digest = t.digest, t.failure, null), ifnull(d.document_id, t.document_id), d.danger
from tools t
join tools s on s.id = ifnull(t.server_id, t.id)
left join trust k on k.tool_id = s.id
left join here v on v.client = t.client
left join resolutions r on r.view_id = v.id and r.tool_id = ifnull(t.server_id, t.id)
left join tools w on w.id = r.shadowed_by
left join resolutions wr on wr.view_id = v.id and wr.tool_id = r.shadowed_by
left join sightings x on x.tool_id = t.id and x.project_hash = :project
left join definitions d on d.id = ifnull(t.definition_id, x.definition_id)
left join used u on u.tool_id = t.id
where {in_scope}
order by t.id

-- name: see_project
insert into projects (hash, path, seen_at) values (:hash, :path, :at)
on conflict (hash) do update set seen_at = max(seen_at, excluded.seen_at)

-- name: see_view
insert into views (client, workspace, flags, project_hash, scanned_at)
values (:client, :workspace, :flags, :project, :at)
on conflict (client, workspace, flags) do update set
    project_hash = excluded.project_hash, scanned_at = excluded.scanned_at
returning id

-- name: inputs
select i.name, i.fingerprint
from inputs i join views v on v.id = i.view_id
where v.client = :client and v.workspace = :workspace and v.flags = :flags and v.project_hash = :project

-- name: problems
select p.source, p.place, p.reason
from problems p join views v on v.id = p.view_id
where v.client = :client and v.workspace = :workspace and v.flags = :flags and v.project_hash = :project
order by p.id

-- name: resolved
select
    t.name, t.kind, t.client, t.scope, r.source, t.project_hash, t.dir, t.server, t.plugin, t.agent, t.profile,
    t.endpoint, r.digest, t.is_remit, t.own_status, d.description, t.id, r.config_status, r.shadowed_by,
    t.source = r.source and t.digest is r.digest
from tools t
join resolutions r on r.tool_id = t.id
join views v on v.id = r.view_id
left join definitions d on d.id = t.definition_id
where v.client = :client and v.workspace = :workspace and v.flags = :flags and v.project_hash = :project and {in_scope}
order by t.id

-- name: last_known
select
    t.name, t.kind, t.client, t.scope, t.source, t.project_hash, t.dir, t.server, t.plugin, t.agent, t.profile,
    t.endpoint, t.digest, t.is_remit, t.own_status, d.description,
    ifnull(
        (
            select max(r.config_status = 'denied')
            from resolutions r join views v on v.id = r.view_id
            where r.tool_id = t.id and v.project_hash = :project
        ),
        (select max(r.config_status = 'denied') from resolutions r where r.tool_id = t.id)
    )
from tools t
left join definitions d on d.id = t.definition_id
where t.client = :client and t.authority = 3 and t.server_id is null and {in_scope}
    and (
        t.source in (select value from json_each(:sources))
        or t.scope in (select value from json_each(:scopes))
    )
    and exists (select 1 from resolutions r where r.tool_id = t.id and r.source = t.source)
order by t.id

-- name: last_rules
select r.source, r.level, r.effect, r.subject
from rules r
where r.client = :client and r.source in (select value from json_each(:sources))
    and r.project_hash = (
        select o.project_hash
        from rules o join projects p on p.hash = o.project_hash
        where o.client = r.client and o.source = r.source
            -- What the user and the administrator say holds everywhere, also where nobody has looked yet.
            and (o.project_hash = :project or o.level in ('user', 'managed'))
        order by o.project_hash = :project desc, p.seen_at desc
        limit 1
    )

-- name: forget_inputs
delete from inputs where view_id = :view

-- name: forget_problems
delete from problems where view_id = :view

-- name: forget_resolutions
delete from resolutions where view_id = :view

-- name: forget_rules
delete from rules
where client = :client and project_hash = :project and source in (select value from json_each(:sources))

-- name: add_input
insert into inputs (view_id, name, fingerprint) values (:view, :name, :fingerprint)

-- name: add_problem
insert into problems (view_id, source, place, reason) values (:view, :source, :place, :reason)

-- name: add_rule
insert into rules (client, project_hash, source, level, effect, subject)
values (:client, :project, :source, :level, :effect, :subject)
on conflict do nothing

-- name: add_resolution
insert into resolutions (view_id, tool_id, source, digest, config_status, shadowed_by)
values (:view, :tool, :source, :digest, :config_status, :shadowed_by)

-- name: is_resolved
select 1
from resolutions r join views v on v.id = r.view_id
where v.client = :client and v.workspace = :workspace and v.flags = :flags and v.project_hash = :project
    and r.source = :source
limit 1

-- name: declare
insert into tools (
    client, kind, scope, project_hash, dir, agent, server, name, plugin, profile, source, authority,
    endpoint, digest, is_remit, own_status, definition_id, discovered_at, updated_at
) values (
    :client, :kind, :scope, :project_hash, :dir, :agent, :server, :name, :plugin, :profile, :source, 3,
    :endpoint, :digest, :is_remit, :own_status, :definition, :at, :at
)
on conflict (
    client, kind, scope, ifnull(project_hash, ''), ifnull(dir, ''), ifnull(agent, ''), ifnull(server, ''), name
)
do update set
    source = excluded.source, authority = 3, plugin = excluded.plugin, profile = excluded.profile, endpoint = excluded.endpoint,
    digest = excluded.digest, is_remit = excluded.is_remit, own_status = excluded.own_status,
    definition_id = excluded.definition_id, updated_at = excluded.updated_at
returning id

-- name: server_in_force
select t.scope, t.project_hash, t.dir, t.server, t.id, r.source
from tools t
join resolutions r on r.tool_id = t.id
join views v on v.id = r.view_id
where v.client = :client and v.workspace = :workspace and v.flags = '' and v.project_hash = :project and {in_scope}
    and t.kind = 'mcp_server' and t.agent is null and r.shadowed_by is null and r.config_status not in ('pending', 'rejected')
    and substr(:name, 1, length(t.name) - 1) = substr(t.name, 1, length(t.name) - 1)
    and (:server is null or t.server = :server)
    -- A session without a terminal starts what waits for approval, and an agent what it brings along: the tool
    -- may be of that one.
    and not exists (
        select 1 from resolutions p join tools o on o.id = p.tool_id
        where p.view_id = v.id and (p.config_status = 'pending' or o.agent is not null) and o.name = t.name
            and (:server is null or o.server = :server)
    )
order by length(t.name) desc, t.server = :parsed desc, t.id
limit 1

-- name: declared_label
select 1 from tools t
where t.client = :client and t.kind = 'mcp_server' and t.server = :server and t.authority = 3 and {in_scope}
limit 1

-- name: loose
select t.id, t.name, t.server, t.authority, t.scope
from tools t
where t.client = :client and t.authority < 3 and {in_scope} and (t.dir is null or t.dir = :workspace)
order by t.authority desc, t.id

-- name: loose_of_name
select t.id, t.name, t.server, t.authority, t.scope
from tools t
where t.name = :name and t.client = :client and t.authority < 3 and {in_scope}
    and (t.dir is null or t.dir = :workspace)
order by t.authority desc, t.id

-- name: sight
insert into tools (
    client, kind, scope, project_hash, dir, server, name, server_id, source, authority, discovered_at, updated_at
) values (:client, :kind, :scope, :project_hash, :dir, :server, :name, :server_id, :source, :authority, :at, :at)
on conflict (
    client, kind, scope, ifnull(project_hash, ''), ifnull(dir, ''), ifnull(agent, ''), ifnull(server, ''), name
)
do update set
    server_id = ifnull(excluded.server_id, server_id),
    source = iif(excluded.authority >= authority, excluded.source, source),
    authority = max(authority, excluded.authority)
returning id

-- name: relist
update tools set is_unlisted = 0 where id = :tool and is_unlisted = 1

-- name: server_row
select t.id from tools t
where {in_scope} and t.client = :client and t.kind = 'mcp_server' and t.scope = :scope and t.project_hash is :project_hash
    and t.dir is :dir and t.agent is null and t.server is :server and t.name = :name

-- name: mark_listed
update tools set
    listed_at = :at, listed_digest = :digest, protocol_version = :protocol_version, failure = null
where id = :server_id

-- name: mark_failed
update tools set failure = :reason, failed_digest = :digest where id = :server_id

-- name: mark_unlisted
update tools set is_unlisted = 1, updated_at = :at
where server_id = :server_id and kind = 'mcp_tool' and is_unlisted = 0
    and id not in (select value from json_each(:listed))

-- name: define_tool
update tools set definition_id = :definition, updated_at = iif(definition_id is :definition, updated_at, :at)
where id = :tool

-- name: trusts
select t.client, t.kind, t.scope, t.project_hash, t.dir, t.agent, t.server, t.name, k.digest
from trust k join tools t on t.id = k.tool_id
where {in_scope}

-- name: trust
insert into trust (tool_id, digest, trusted_at) values (:tool, :digest, :at)
on conflict (tool_id) do update set digest = excluded.digest, trusted_at = excluded.trusted_at

-- name: revoke
delete from trust where tool_id = :tool

-- name: add_sighting
insert into sightings (tool_id, project_hash) values (:tool, :project)
on conflict do nothing

-- name: move_events
update usage_events set tool_id = :into where tool_id = :tool

-- name: move_totals
insert into usage_totals (tool_id, project_hash, uses, failures, last_used_at, outcomes)
select :into, project_hash, uses, failures, last_used_at, outcomes from usage_totals where tool_id = :tool
on conflict (tool_id, project_hash) do update set
    uses = uses + excluded.uses,
    failures = failures + excluded.failures,
    outcomes = substr(
        iif(last_used_at > excluded.last_used_at, excluded.outcomes || outcomes, outcomes || excluded.outcomes), -5
    ),
    last_used_at = max(last_used_at, excluded.last_used_at)

-- name: move_sightings
insert into sightings (tool_id, project_hash, definition_id)
select :into, project_hash, definition_id from sightings where tool_id = :tool
on conflict (tool_id, project_hash) do update set definition_id = ifnull(definition_id, excluded.definition_id)

-- name: move_history
update tools set discovered_at = min(discovered_at, (select o.discovered_at from tools o where o.id = :tool))
where id = :into

-- name: drop_tool
delete from tools where id = :tool

-- name: earlier_report
select id, succeeded, session_id from usage_events
where call_id = :call_id and client = :client and project_hash = :project
    and (session_id is null or :session_id is null or session_id = :session_id)
limit 1

-- name: complete_event
update usage_events set
    session_id = ifnull(session_id, :session_id),
    succeeded = ifnull(succeeded, :succeeded),
    duration_ms = ifnull(duration_ms, :duration_ms)
where id = :event

-- name: add_event
insert into usage_events (
    tool_id, client, project_hash, session_id, call_id, succeeded, duration_ms, used_at
) values (:tool, :client, :project, :session_id, :call_id, :succeeded, :duration_ms, :at)

-- name: report_call
insert into reported_calls (project_hash, client, call_id, session_id, told_at)
values (:project, :client, :call_id, :session_id, :at)
on conflict do nothing

-- name: take_report
delete from reported_calls where project_hash = :project and client = :client and call_id = :call_id
returning session_id

-- name: forget_old_reports
delete from reported_calls where project_hash = :project and told_at < :before

-- name: told_calls
select call_id from usage_events
where project_hash = :project and client = :client and session_id = :session_id and call_id is not null
union all
select call_id from reported_calls
where project_hash = :project and client = :client and session_id = :session_id

-- name: leave_trace
insert into traces (project_hash, sort, subject, verb, times, session_id, left_at, is_news)
values (:project, :sort, :subject, :verb, 1, :session_id, :at, 1)
on conflict (project_hash, sort, subject) do update set
    times = iif(session_id is excluded.session_id and (not :in_a_row or verb = excluded.verb), times + 1, 1),
    verb = excluded.verb, session_id = excluded.session_id, left_at = excluded.left_at, is_news = 1

-- name: change_trace
update traces set verb = :verb, session_id = :session_id, left_at = :at, is_news = 1
where project_hash = :project and sort = :sort and subject = :subject and verb <> :verb

-- name: traces_that_are_news
select id, sort, subject, verb, times, left_at, artifact from traces
where project_hash = :project and is_news
order by left_at, id

-- name: trace_remembered
update traces set artifact = :artifact, is_news = 0
where id = :trace and times = :times and left_at = :at

-- name: forget_old_traces
delete from traces where project_hash = :project and left_at < :before

-- name: prune_events
delete from usage_events where used_at < :before

-- name: definition
select d.description, d.input_schema
from sightings x join definitions d on d.id = x.definition_id
where x.tool_id = :tool and x.project_hash = :project

-- name: define
insert into definitions (
    digest, server, name, tool, title, description, input_schema, output_schema, annotations, raw, danger, tokens
) values (
    :digest, :server, :name, :tool, :title, :description, :input_schema, :output_schema, :annotations, :raw, :danger,
    :tokens
)
on conflict (digest) do update set digest = digest
returning id

-- name: attach_definition
update sightings set definition_id = :definition
where tool_id = :tool and project_hash = :project

-- name: project_by_hash_or_path
select hash, path from projects where hash = :name or path = :name limit 1

-- name: all_projects
select hash, path from projects order by path

-- name: forget_project
delete from projects where hash = :project

-- name: forget_what_nobody_saw
delete from tools
where (server_id is not null or authority < 3) and definition_id is null
    and not exists (select 1 from sightings x where x.tool_id = tools.id)

-- name: forget_unused_definitions
delete from definitions
where not exists (select 1 from sightings x where x.definition_id = definitions.id)
    and not exists (select 1 from tools t where t.definition_id = definitions.id)

-- name: unread_definitions
select id, name, server, tool, title, description, input_schema from definitions where document_id is null

-- name: unread_tools
select t.id, t.name, t.server
from tools t
where t.document_id is null and t.definition_id is null and {in_scope}

-- name: add_document
insert into documents (digest, document, name, server, body, params, details)
values (:digest, :document, :name, :server, :body, :params, :details)
on conflict (digest) do update set digest = digest
returning id

-- name: read_definition
update definitions set document_id = :document where id = :id

-- name: read_tool
update tools set document_id = :document where id = :id

-- name: forget_unused_documents
delete from documents
where not exists (select 1 from definitions d where d.document_id = documents.id)
    and not exists (select 1 from tools t where t.document_id = documents.id)

-- name: without_vector
select o.id, o.document
from documents o
where o.id in ({documents_here})
    and not exists (select 1 from vectors v where v.model = :model and v.document_id = o.id)
order by o.id

-- name: definitions_of
select
    t.client, t.kind, t.scope, t.project_hash, t.dir, t.agent, t.server, t.name,
    d.name, d.server, d.tool, d.title, d.description, d.input_schema, d.output_schema, d.annotations,
    d.raw
from tools t
left join sightings x on x.tool_id = t.id and x.project_hash = :project
join definitions d on d.id = ifnull(t.definition_id, x.definition_id)
where {in_scope} and t.name in (select value from json_each(:names))

-- name: forget_other_vectors
delete from vectors
where model = :model and length(vector) <> :length
    and :length <> (select length(vector) from vectors where model = :model limit 1)

-- name: add_vector
insert into vectors (model, document_id, vector)
select :model, id, :vector from documents where id = :document
on conflict do nothing

-- name: prepare_selections
create table if not exists temp.selected (
    selection integer not null, document_id integer not null, primary key (selection, document_id)
) without rowid

-- name: select_documents
insert into temp.selected (selection, document_id)
select distinct :among, value from json_each(:documents)
where value in ({documents_here})

-- name: drop_selection
delete from temp.selected where selection = :among

-- name: by_words
select rowid, -bm25(documents_by_word, 3.0, 1.0, 1.0, 0.5, 0.25) as words
from documents_by_word
where documents_by_word match :match
    -- The plus, here and below: looking up one by one those that are selected takes several times as long.
    and +rowid in (select document_id from temp.selected where selection = :among)
order by words desc, rowid
limit :most

-- name: by_meaning
select document_id, 1 - vec_distance_cosine(vector, :vector) as meaning
from vectors
where model = :model
    -- An endpoint may change a model under its name: a vector of another length is as good as none.
    and length(vector) = length(:vector)
    and +document_id in (select document_id from temp.selected where selection = :among)
order by meaning desc, document_id
limit :most

-- name: meanings
select document_id, 1 - vec_distance_cosine(vector, :vector)
from vectors
where model = :model and length(vector) = length(:vector)
    and document_id in (select value from json_each(:documents))

-- name: indexed
select o.id, o.name, o.server, o.body, o.params, o.details, v.vector
from documents o
left join vectors v on v.document_id = o.id and v.model = :model
order by o.id

-- name: configuration_files
select source, fingerprint, content, places, problems from configuration_files
where source in (select value from json_each(:sources)) and (project_hash is null or project_hash = :project)

-- name: keep_configuration_file
insert into configuration_files (source, project_hash, fingerprint, content, places, problems)
values (:source, :project_hash, :fingerprint, :content, :places, :problems)
on conflict (source) do update set
    project_hash = excluded.project_hash, fingerprint = excluded.fingerprint, content = excluded.content,
    places = excluded.places, problems = excluded.problems

-- name: configuration
select inputs, problems, transitions, observes from configurations where workspace = :workspace and project_hash = :project

-- name: observes
select observes from configurations where workspace = :workspace and project_hash = :project

-- name: transitions
select transitions from configurations where workspace = :workspace and project_hash = :project

-- name: keep_configuration
insert into configurations (workspace, project_hash, inputs, problems, transitions, observes)
values (:workspace, :project, :inputs, :problems, :transitions, :observes)
on conflict (workspace) do update set
    project_hash = excluded.project_hash, inputs = excluded.inputs, problems = excluded.problems,
    transitions = excluded.transitions, observes = excluded.observes

-- name: trusted_parts
select source, subject, digest from configuration_trust where project_hash = :project

-- name: trust_part
insert into configuration_trust (project_hash, source, subject, digest, trusted_at)
values (:project, :source, :subject, :digest, :at)
on conflict do update set digest = excluded.digest, trusted_at = excluded.trusted_at

-- name: revoke_part
delete from configuration_trust where project_hash = :project and source = :source and subject = :subject

-- name: workflow_states
select name, set_at, set_by from workflow_states where project_hash = :project

-- name: set_state
insert into workflow_states (project_hash, name, set_at, set_by) values (:project, :name, :at, :by)
on conflict do update set set_at = excluded.set_at, set_by = excluded.set_by

-- name: clear_state
delete from workflow_states where project_hash = :project and name = :name

-- name: pushed_states
select name, value, pushed_at, until from pushed_states where project_hash = :project

-- name: push_state
insert into pushed_states (project_hash, name, value, pushed_at, until)
values (:project, :name, :value, :at, :until)
on conflict do update set value = excluded.value, pushed_at = excluded.pushed_at, until = excluded.until

-- name: withdraw_state
delete from pushed_states where project_hash = :project and name = :name

-- name: observations
select name, mark, truth, reason, count, observed_at, until, claimed_until
from observations where workspace = :workspace and project_hash = :project

-- name: claim_observation
insert into observations (
    workspace, name, project_hash, mark, truth, reason, count, observed_at, until, claimed_until
) values (:workspace, :name, :project, :mark, null, '', null, 0, 0, :claimed_until)
on conflict (workspace, name) do update set claimed_until = excluded.claimed_until
    -- A claim from the future is that of a clock which has been set back.
    where claimed_until <= :at or claimed_until > :latest or mark <> :mark or project_hash <> :project
returning 1

-- name: keep_observation
insert into observations (
    workspace, name, project_hash, mark, truth, reason, count, observed_at, until, claimed_until
) values (:workspace, :name, :project, :mark, :truth, :reason, :count, :at, :until, 0)
on conflict (workspace, name) do update set
    project_hash = excluded.project_hash, mark = excluded.mark, truth = excluded.truth, reason = excluded.reason,
    count = excluded.count, observed_at = excluded.observed_at, until = excluded.until, claimed_until = 0

-- fragment: approval
id, principal, tool, definition, arguments, shown, reason, requested_at, expires_at, is_approved, used_at

-- name: request_approval
insert into approvals (
    id, project_hash, principal, tool, definition, arguments, shown, reason, requested_at, expires_at
) values (
    :id, :project, :principal, :tool, :definition, :arguments, :shown, :reason, :at, :expires_at
)

-- name: approvals_like
select {approval} from approvals
where project_hash = :project and principal = :principal and tool = :tool and definition = :definition
    and arguments = :arguments and used_at is null and requested_at <= :latest and expires_at > :at
order by requested_at desc, id
limit 1

-- name: waiting_approvals
select {approval} from approvals
where project_hash = :project and is_approved is null and requested_at <= :latest and expires_at > :at
order by requested_at, id

-- name: approval
select {approval} from approvals where project_hash = :project and id = :id

-- name: answer_approval
update approvals set is_approved = :approved, answered_at = :at, shown = iif(:approved, shown, '')
where project_hash = :project and id = :id and is_approved is null and requested_at <= :latest and expires_at > :at
returning {approval}

-- name: use_approval
update approvals set used_at = :at, shown = ''
where used_at is null and id = (
    select id from approvals
    where project_hash = :project and principal = :principal and tool = :tool and definition = :definition
        and arguments = :arguments and is_approved = 1 and used_at is null
        and requested_at <= :latest and expires_at > :at
    order by expires_at, id
    limit 1
)
returning {approval}

-- name: count_waiting_approvals
select count(*) from approvals
where project_hash = :project and is_approved is null and requested_at <= :latest and expires_at > :at

-- name: drop_expired_arguments
update approvals set shown = '' where expires_at <= :at and shown <> ''

-- name: forget_approvals
delete from approvals where expires_at < :before

-- name: facts_about
with here (id, client) as materialized (
    select id, client from views
    where workspace = :workspace and project_hash = :project and flags = :flags and client = :client
)
select
    t.name, t.kind, t.scope, t.project_hash, t.dir, t.server, s.plugin, t.agent, t.profile,
    ifnull(r.source, t.source), t.authority, r.config_status, w.scope, wr.source, t.digest, t.is_unlisted,
    s.listed_at is null, s.listed_digest <> s.digest, k.digest = s.digest, d.danger
from tools t
join tools s on s.id = ifnull(t.server_id, t.id)
left join trust k on k.tool_id = s.id
left join here v on v.client = t.client
left join resolutions r on r.view_id = v.id and r.tool_id = ifnull(t.server_id, t.id)
left join tools w on w.id = r.shadowed_by
left join resolutions wr on wr.view_id = v.id and wr.tool_id = r.shadowed_by
left join sightings x on x.tool_id = t.id and x.project_hash = :project
left join definitions d on d.id = ifnull(t.definition_id, x.definition_id)
where t.name in (select value from json_each(:names)) and t.client = :client and {in_scope}
order by t.id

-- name: judgement
select answer from judgements
where workspace = :workspace and subject = :subject and project_hash = :project and mark = :mark

-- name: keep_judgement
insert into judgements (workspace, subject, project_hash, mark, answer, judged_at)
values (:workspace, :subject, :project, :mark, :answer, :at)
on conflict (workspace, subject) do update set
    project_hash = excluded.project_hash, mark = excluded.mark, answer = excluded.answer, judged_at = excluded.judged_at

-- name: forget_judgements
delete from judgements where judged_at < :before

-- name: is_known
select 1 from tools t where t.name = :name and t.client = :client and {in_scope} limit 1

-- name: invoked_in_force
select t.id
from tools t
join resolutions r on r.tool_id = t.id
join views v on v.id = r.view_id
where v.client = :client and v.workspace = :workspace and v.flags = '' and v.project_hash = :project and {in_scope}
    and t.name in (select value from json_each(:names)) and t.kind in (select value from json_each(:kinds))
    and r.shadowed_by is null
order by t.id
limit 1

-- name: begin_session
insert into sessions (client, session_id, project_hash, started_at, states, transcript)
values (:client, :session_id, :project, :at, :states, :transcript)
on conflict do update set
    ended_at = null, states = iif(:states = '', states, excluded.states),
    read_to = iif(transcript is excluded.transcript, read_to, 0), transcript = excluded.transcript

-- name: end_session
insert into sessions (client, session_id, project_hash, started_at, ended_at, states)
values (:client, :session_id, :project, :at, :at, '')
on conflict do update set ended_at = excluded.ended_at

-- name: transcripts
select session_id, transcript, read_to, started_at from sessions
where project_hash = :project and client = :client and transcript is not null
    and (session_id = :session_id or (:session_id is null and ended_at is null and started_at > :since))
order by started_at desc
limit :most

-- name: transcript_read
update sessions set read_to = :read_to
where project_hash = :project and client = :client and session_id = :session_id

-- name: forget_old_events
delete from usage_events where project_hash = :project and used_at < :before

-- name: forget_old_sessions
delete from sessions where project_hash = :project and started_at < :before

-- name: forget_old_suggestions
delete from suggestions where project_hash = :project and suggested_at < :before

-- name: session
select states from sessions where client = :client and session_id = :session_id and project_hash = :project

-- name: tallies
select t.client, t.kind, t.scope, ifnull(t.dir, ''), t.name, e.used_at / 3600000, count(*), sum(e.succeeded is 0)
from usage_events e
join tools t on t.id = e.tool_id
where e.project_hash = :project and {in_scope}
    and e.used_at > (select max(used_at) from usage_events where project_hash = :project) - :reach_back
group by t.id, e.used_at / 3600000
order by t.id, e.used_at / 3600000

-- name: calls_here
select session_id, name, used_at from (
    select e.id, e.session_id, t.name, e.used_at
    from usage_events e
    join tools t on t.id = e.tool_id
    where e.project_hash = :project and e.client = :client and e.session_id is not null and {in_scope}
    order by e.used_at desc, e.id desc
    limit :most
)
order by used_at, id

-- name: calls_everywhere
select session_id, name, used_at from (
    select e.id, e.session_id, o.name, e.used_at
    from usage_events e
    join tools o on o.id = e.tool_id
    where e.client = :client and e.session_id is not null
        -- Of other projects, only the names that are names here as well.
        and o.name in (select t.name from tools t where t.client = :client and {in_scope})
    order by e.used_at desc, e.id desc
    limit :most
)
order by used_at, id

-- name: calls_of_session
select e.session_id, t.name, e.used_at
from usage_events e
join tools t on t.id = e.tool_id
where e.session_id = :session_id and e.project_hash = :project and e.client = :client and {in_scope}
order by e.used_at, e.id

-- name: suggestions_made
select
    s.session_id, s.tool, s.suggested_at,
    exists (
        select 1 from usage_events e join tools t on t.id = e.tool_id
        where t.name = s.tool and {in_scope} and e.project_hash = :project and e.used_at >= s.suggested_at
    )
from suggestions s
where s.project_hash = :project and s.client = :client
order by s.suggested_at, s.id

-- name: suggestions_in_session
select count(*), max(s.suggested_at),
    (
        select count(*) from usage_events e
        where e.session_id = :session_id and e.project_hash = :project
            and e.used_at > (select max(o.suggested_at) from suggestions o where o.session_id = :session_id)
    )
from suggestions s
where s.session_id = :session_id and s.project_hash = :project and s.client = :client

-- name: add_suggestion
insert into suggestions (client, session_id, project_hash, tool, cause, suggested_at)
values (:client, :session_id, :project, :tool, :cause, :at)

-- name: sessions_here
select
    ifnull(s.session_id, e.session_id), ifnull(s.started_at, e.first_at), s.ended_at, ifnull(e.calls, 0),
    ifnull(e.failures, 0), ifnull(e.tools, 0)
from (
    select session_id, min(used_at) as first_at, count(*) as calls, sum(succeeded is 0) as failures,
        count(distinct tool_id) as tools
    from usage_events
    where project_hash = :project and client = :client and session_id is not null
    group by session_id
) e
full join (select * from sessions where project_hash = :project and client = :client) s on s.session_id = e.session_id
order by 2 desc, 1
limit :most

-- name: totals_here
select t.client, t.kind, t.scope, ifnull(t.dir, ''), t.name, u.uses, u.failures, u.last_used_at
from usage_totals u
join tools t on t.id = u.tool_id
where u.project_hash = :project and {in_scope}

-- name: durations_here
select t.client, t.kind, t.scope, ifnull(t.dir, ''), t.name, avg(e.duration_ms)
from usage_events e
join tools t on t.id = e.tool_id
where e.project_hash = :project and e.duration_ms is not null and {in_scope}
group by t.id

-- name: totals_by_project
select p.path, p.hash, sum(u.uses), sum(u.failures), max(u.last_used_at), count(*),
    (select count(*) from sessions s where s.project_hash = p.hash)
from usage_totals u
join projects p on p.hash = u.project_hash
group by p.hash
order by 3 desc, 1

-- name: catalog_revision
select number from revisions where part = 'catalog'

-- name: keep_wares
insert into wares (
    tool_id, digest, resources, templates, prompts, capabilities, instructions, listed_at
) values (:server_id, :digest, :resources, :templates, :prompts, :capabilities, :instructions, :at)
on conflict (tool_id) do update set
    digest = excluded.digest, resources = excluded.resources, templates = excluded.templates,
    prompts = excluded.prompts, capabilities = excluded.capabilities, instructions = excluded.instructions,
    listed_at = excluded.listed_at

-- name: wares_here
select
    t.client, t.kind, t.scope, t.project_hash, t.dir, t.agent, t.server, t.name,
    w.resources, w.templates, w.prompts, w.capabilities, w.instructions
from tools t
join wares w on w.tool_id = t.id and w.digest is t.digest
where {in_scope}

-- name: add_audit
insert into audit (
    project_hash, called_at, endpoint, client, agent, principal, tool, verdict, gate, outcome, duration_ms, bytes_in,
    bytes_out
) values (
    :project, :called_at, :endpoint, :client, :agent, :principal, :tool, :verdict, :gate, :outcome, :duration_ms,
    :bytes_in, :bytes_out
)

-- name: audit
select
    called_at, endpoint, client, agent, principal, tool, verdict, gate, outcome, duration_ms, bytes_in, bytes_out
from audit
where project_hash = :project
order by id desc
limit :limit

-- name: prune_audit
delete from audit
where called_at < :before or id <= (select max(id) from audit) - :most

-- name: uses_here
select t.client, t.kind, t.scope, t.project_hash, t.dir, t.agent, t.server, t.name, u.uses, u.last_used_at
from usage_totals u join tools t on t.id = u.tool_id
where u.project_hash = :project and {in_scope}
