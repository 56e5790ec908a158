-- Named queries for approvals.

-- fragment: approval
id, principal, tool, definition, arguments, shown, reason, requested_at, expires_at, is_approved, used_at,
declined_at

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

-- name: reopen_approval
update approvals set declined_at = null where project_hash = :project and id = :id and is_approved is null

-- name: end_denial
update approvals set expires_at = :at where project_hash = :project and id = :id and is_approved = 0

-- name: decline_approval
update approvals set declined_at = :at where project_hash = :project and id = :id and is_approved is null

-- name: waiting_approvals
select {approval} from approvals
where project_hash = :project and is_approved is null and requested_at <= :latest and expires_at > :at
order by requested_at, id

-- name: pending_approvals
select id, tool from approvals
where project_hash = :project and is_approved is null and declined_at is null and expires_at > :at
order by requested_at, id

-- name: approval
select {approval} from approvals where project_hash = :project and id = :id

-- name: answer_approval
update approvals set is_approved = :approved, answered_at = :at, shown = ''
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

-- name: drop_expired_arguments (every project)
update approvals set shown = '' where expires_at <= :at and shown <> ''

-- name: forget_approvals (every project)
delete from approvals where expires_at < :before

-- name: use_prompted_call
delete from prompted_calls
where project_hash = :project and client = :client and call_id = :call_id and tool = :tool
    and arguments = :arguments and prompted_at > :since
returning call_id
