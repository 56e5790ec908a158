-- Teams: groups of projects that share servers and rules. A team and each of its projects has a random id, which is a
-- row of `projects`, so that their tools, states, approvals and audit belong to it like those of any project.

create table teams (
    id text collate "C" primary key references projects (hash) on delete cascade,
    name text collate "C" not null unique,
    policy text not null default '', -- as TOML
    created_at bigint not null
);

create table team_projects (
    hash text collate "C" primary key references projects (hash) on delete cascade,
    team_id text collate "C" not null references teams (id) on delete cascade,
    name text collate "C" not null unique,
    created_at bigint not null
);
create index team_projects_by_team on team_projects (team_id);

create table team_servers (
    team_id text collate "C" not null references teams (id) on delete cascade,
    name text collate "C" not null,
    entry text not null, -- as JSON, with variables instead of secrets
    created_at bigint not null,
    primary key (team_id, name)
);

alter table tools
    drop constraint tools_scope_check,
    add constraint tools_scope_check check (
        scope in ('managed', 'dynamic', 'local', 'project', 'team', 'global', 'plugin')
    ),
    add constraint tools_team_check check (scope <> 'team' or project_hash is not null);

create trigger teams_changed after insert or update or delete on teams
for each row execute function revise('teams');
create trigger team_projects_changed after insert or update or delete on team_projects
for each row execute function revise('teams');
create trigger team_servers_changed after insert or update or delete on team_servers
for each row execute function revise('teams');
create trigger catalog_team_changed after insert or update or delete on teams
for each row execute function revise('catalog');
create trigger catalog_team_project_changed after insert or update or delete on team_projects
for each row execute function revise('catalog');
create trigger catalog_team_server_changed after insert or update or delete on team_servers
for each row execute function revise('catalog');

-- The team comes from the project in `remit.project`, never from a setting of its own: a query that names another team
-- finds nothing.
create function team_here() returns text language sql stable parallel safe
return (select team_id from team_projects where hash = here());

create policy scope on team_projects using ((select everywhere()) or hash = (select here()));
create policy scope on teams using ((select everywhere()) or id = (select team_here()));
create policy scope on team_servers using ((select everywhere()) or team_id = (select team_here()));

alter policy scope on tools using (
    (select everywhere())
    or (select here()) is not null and (
        scope in ('global', 'managed')
        or scope in ('local', 'dynamic') and project_hash = (select here())
        or scope = 'project' and project_hash = (select here())
            and dir in (select value from json_each(coalesce(nullif(current_setting('remit.reach', true), ''), '[]')))
        or scope = 'team' and project_hash = (select team_here())
        or scope = 'plugin' and (project_hash is null or project_hash = (select here()))
    )
);
alter policy scope on configuration_files using (
    (select everywhere())
    or (select here()) is not null and ifnull(project_hash, (select here())) in ((select here()), (select team_here()))
);

do $$
declare
    name text;
begin
    foreach name in array array['teams', 'team_projects', 'team_servers'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
    end loop;
end $$;
