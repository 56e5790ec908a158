-- Named queries for teams, which SQLite does not keep: only a shared store has them.

-- name: all_projects (every project)
select hash, path from projects p
where path not like 'team:%'
    -- A team is none, and neither is a removed project of one, of which a gateway recorded a last call.
    or exists (select 1 from team_projects t where t.hash = p.hash)
order by path

-- name: all_teams (every project)
select name, id, policy <> '' from teams order by name

-- name: team_by_name (every project)
select name, id, policy from teams where name = :name

-- name: add_team (every project)
insert into teams (id, name, created_at) values (:id, :name, :at)
on conflict (name) do nothing
returning 1

-- name: set_team_policy (every project)
update teams set policy = :policy where id = :id

-- name: all_team_projects (every project)
select p.name, p.hash, t.name, t.id from team_projects p join teams t on t.id = p.team_id order by t.name, p.name

-- name: add_team_project (every project)
insert into team_projects (hash, team_id, name, created_at) values (:hash, :id, :name, :at)
on conflict (name) do nothing
returning 1

-- name: add_owner (every project)
insert into projects (hash, path, seen_at) values (:hash, :path, :at)

-- name: all_team_servers (every project)
select name, entry from team_servers where team_id = :id order by name

-- name: put_team_server (every project)
insert into team_servers (team_id, name, entry, created_at) values (:id, :name, :entry, :at)
on conflict (team_id, name) do update set entry = excluded.entry

-- name: remove_team_server (every project)
delete from team_servers where team_id = :id and name = :name returning 1

-- name: remove_team_project (every project)
delete from team_projects where hash = :hash

-- name: remove_team (every project)
delete from teams where id = :hash

-- name: servers_of_team
select name, entry from team_servers where team_id = :team order by name

-- name: policy_of_team
select policy from teams where id = :team
