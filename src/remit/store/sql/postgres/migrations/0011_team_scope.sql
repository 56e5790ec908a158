-- A project of a team has nothing from the files of any machine: no row of scope `global` or `managed`, no plugin of a user.

alter policy scope on tools using (
    (select everywhere())
    or (select here()) is not null and (
        scope in ('global', 'managed') and (select team_here()) is null
        or scope in ('local', 'dynamic') and project_hash = (select here())
        or scope = 'project' and project_hash = (select here())
            and dir in (select value from json_each(coalesce(nullif(current_setting('remit.reach', true), ''), '[]')))
        or scope = 'team' and project_hash = (select team_here())
        or scope = 'plugin' and (project_hash is null and (select team_here()) is null or project_hash = (select here()))
    )
);
