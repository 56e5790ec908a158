-- Named queries for Remit's own configuration, compiled, and for states.

-- name: configuration
select inputs, content from configurations where workspace = :workspace and project_hash = :project

-- name: keep_configuration (every project)
insert into configurations (workspace, project_hash, inputs, content) values (:workspace, :project, :inputs, :content)
on conflict (workspace) do update set
    project_hash = excluded.project_hash, inputs = excluded.inputs, content = excluded.content

-- name: workflow_states
select name, set_at, set_by from workflow_states where project_hash = :project

-- name: set_state
insert into workflow_states (project_hash, name, set_at, set_by) values (:project, :name, :at, :by)
on conflict (project_hash, name) do update set set_at = excluded.set_at, set_by = excluded.set_by

-- name: clear_state
delete from workflow_states where project_hash = :project and name = :name

-- name: pushed_states
select name, value, pushed_at, until from pushed_states where project_hash = :project

-- name: push_state
insert into pushed_states (project_hash, name, value, pushed_at, until)
values (:project, :name, :value, :at, :until)
on conflict (project_hash, name) do update set
    value = excluded.value, pushed_at = excluded.pushed_at, until = excluded.until

-- name: withdraw_state
delete from pushed_states where project_hash = :project and name = :name

-- name: observations
select name, mark, truth, reason, amount, observed_at, until
from observations where workspace = :workspace and project_hash = :project

-- name: claim_observation (every project)
insert into observations (
    workspace, name, project_hash, mark, truth, reason, amount, observed_at, until, claimed_until
) values (:workspace, :name, :project, :mark, null, '', null, 0, 0, :claimed_until)
on conflict (workspace, name) do update set
    mark = excluded.mark, claimed_until = excluded.claimed_until,
    until = iif(mark = excluded.mark, until, 0), observed_at = iif(mark = excluded.mark, observed_at, 0)
    -- A claim too far in the future was made before the clock was set back.
    where observations.claimed_until <= :at or observations.claimed_until > :latest or observations.mark <> :mark
        or observations.project_hash <> :project
returning 1

-- name: keep_observation (every project)
insert into observations (
    workspace, name, project_hash, mark, truth, reason, amount, observed_at, until, claimed_until
) values (:workspace, :name, :project, :mark, :truth, :reason, :amount, :at, :until, 0)
on conflict (workspace, name) do update set
    project_hash = excluded.project_hash, mark = excluded.mark, truth = excluded.truth, reason = excluded.reason,
    amount = excluded.amount, observed_at = excluded.observed_at, until = excluded.until, claimed_until = 0
