-- Two roles: gateways read what administrators define. `table_rights` has the rights of both.

-- Only an administrator can remove a team or its project: deleting the row of `projects` no longer does.
alter table teams
    drop constraint teams_id_fkey,
    add constraint teams_id_fkey foreign key (id) references projects (hash);
alter table team_projects
    drop constraint team_projects_hash_fkey,
    add constraint team_projects_hash_fkey foreign key (hash) references projects (hash);

-- Entries of the audit log get their numbers from the owner: nobody else can choose, skip or use them up.
create function number_audit() returns trigger language plpgsql security definer set search_path = remit, pg_temp as $$
begin
    if new.id is null then
        new.id := nextval('remit.audit_numbers');
    end if;
    return new;
end $$;
alter table audit alter column id drop default;
create trigger audit_numbered before insert on audit for each row execute function number_audit();

-- Revisions are written by triggers alone, so that nobody can hide a change from other nodes.
alter function revise() security definer set search_path = remit, pg_temp;

create function merge_revisions() returns void language sql security definer set search_path = remit, pg_temp as $$
    with ended as (
        delete from revisions where (part, writer) in (
            select part, writer from revisions
            where writer <> 0 and writer not in (select pid from pg_stat_activity)
            for update skip locked
        )
        returning part, number
    )
    insert into revisions (part, writer, number)
    select part, 0, sum(number) from ended group by part order by part
    on conflict (part, writer) do update set number = revisions.number + excluded.number
$$;
