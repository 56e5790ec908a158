-- Named queries for approvals.

-- fragment: approval
id, caller, tool, definition, arguments, shown, reason, requested_at, expires_at, is_approved, used_at

-- fragment: counts
requested_at <= :latest and expires_at > :at

-- fragment: same_call
project_hash = :project and caller = :caller and tool = :tool and definition = :definition and arguments = :arguments

-- name: request_approval
insert into approvals (
    id, project_hash, caller, tool, definition, arguments, shown, reason, requested_at, expires_at
) values (
    :id, :project, :caller, :tool, :definition, :arguments, :shown, :reason, :at, :expires_at
)

-- name: approvals_like
select {approval} from approvals
where {same_call} and used_at is null and {counts}
order by requested_at desc, id
limit 1

-- name: end_denial
update approvals set expires_at = :at where project_hash = :project and id = :id and is_approved = 0

-- name: waiting_approvals
select {approval} from approvals
where project_hash = :project and is_approved is null and {counts}
order by requested_at, id

-- name: approval_by_id
select {approval} from approvals where project_hash = :project and id = :id

-- name: answer_approval
update approvals set is_approved = :approved, answered_at = :at, shown = ''
where project_hash = :project and id = :id and is_approved is null and {counts}
returning {approval}

-- name: use_approval
update approvals set used_at = :at, shown = ''
where used_at is null and id = (
    select id from approvals
    where {same_call} and is_approved = 1 and used_at is null and {counts}
    order by expires_at, id
    limit 1
)
returning {approval}

-- name: erase_expired_arguments (every project)
update approvals set shown = '' where expires_at <= :at and shown <> ''

-- name: forget_approvals (every project)
delete from approvals where expires_at < :before
