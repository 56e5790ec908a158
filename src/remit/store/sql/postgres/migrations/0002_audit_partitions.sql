-- The audit log in monthly partitions. Nodes only append to it; an owner drops old months. It outlives its projects,
-- so that nobody without an owner's rights can erase it.

select set_config('remit.everything', 'on', true);

alter table audit_anchors add column entries bigint not null default 0; -- deleted so far; 0: not counted
alter table audit_anchors add column until bigint; -- when the last of them was called
alter table audit_anchors drop constraint audit_anchors_project_hash_fkey;
alter table configurations add column retention text not null default '{}';

alter table audit rename to audit_before;

create table audit (
    id bigint not null,
    project_hash text collate "C" not null,
    called_at bigint not null,
    endpoint text not null,
    client text collate "C" not null,
    agent text collate "C",
    principal text collate "C",
    tool text collate "C" not null,
    verdict text collate "C" not null,
    gate text collate "C",
    outcome text collate "C" not null,
    duration_ms bigint not null,
    bytes_in bigint not null,
    bytes_out bigint not null,
    chain text collate "C" not null, -- a digest over itself and the entries before it in its project
    -- By the database's clock: entries of a project are in the same order by this and by id, so that a month is a
    -- part of its chain, whatever clocks the nodes have.
    recorded_at bigint not null default (extract(epoch from clock_timestamp()) * 1000)::bigint
) partition by range (recorded_at);
create sequence audit_numbers owned by audit.id;
alter table audit alter column id set default nextval('audit_numbers');

create table audit_rest partition of audit default; -- what has no partition yet: no entry is ever refused

-- Adds the partition of a month, with what waits in `audit_rest`. Attaching, unlike creating it in place, lets others
-- write meanwhile.
create function add_audit_month(month timestamp) returns void language plpgsql as $$
declare
    name text := 'audit_' || to_char(month, 'YYYY_MM');
    first bigint := extract(epoch from month) * 1000;
    after bigint := extract(epoch from month + interval '1 month') * 1000;
begin
    if to_regclass('remit.' || name) is not null then
        return;
    end if;
    execute format('create table %I (like audit including defaults)', name);
    execute format(
        'with moved as (delete from audit where recorded_at >= %s and recorded_at < %s returning *) '
        'insert into %I select * from moved', first, after, name
    );
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format(
        'create policy scope on %I using ((select everywhere()) or project_hash = (select here()))', name
    );
    execute format('alter table audit attach partition %I for values from (%s) to (%s)', name, first, after);
end $$;

-- Makes the partitions of this month and the next three, as the owner: nodes call it, and may create nothing else. If
-- the tables are busy, a later call does it.
create function prepare_audit() returns void language plpgsql security definer
set search_path = remit, pg_temp set lock_timeout = '2s' as $$
declare
    before text := coalesce(current_setting('remit.everything', true), '');
    this_month timestamp := date_trunc('month', clock_timestamp() at time zone 'UTC');
    wanted timestamp[] := array(
        select generate_series(this_month, this_month + interval '3 months', interval '1 month')
    );
    missing timestamp[];
begin
    perform set_config('remit.everything', 'on', true);
    missing := array(
        select month from unnest(wanted) month where to_regclass('remit.audit_' || to_char(month, 'YYYY_MM')) is null
        union
        select distinct date_trunc('month', to_timestamp(recorded_at / 1000.0) at time zone 'UTC') from audit_rest
    );
    if cardinality(missing) > 0 and pg_try_advisory_xact_lock(1635083369) then
        begin
            perform add_audit_month(month) from unnest(missing) month;
        exception when lock_not_available then
            null;
        end;
    end if;
    perform set_config('remit.everything', before, true);
end $$;

create policy scope on audit using ((select everywhere()) or project_hash = (select here()));
alter table audit enable row level security;
alter table audit force row level security;
create policy scope on audit_rest using ((select everywhere()) or project_hash = (select here()));
alter table audit_rest enable row level security;
alter table audit_rest force row level security;

-- Existing entries count as recorded when they were called, or with the latest one before them.
alter table audit_before add column recorded_at bigint;
update audit_before set recorded_at = least(latest.at, (extract(epoch from clock_timestamp()) * 1000)::bigint)
from (select id, max(called_at) over (partition by project_hash order by id) as at from audit_before) latest
where latest.id = audit_before.id;
select add_audit_month(month) from (
    select distinct date_trunc('month', to_timestamp(recorded_at / 1000.0) at time zone 'UTC') as month from audit_before
) months;
insert into audit select * from audit_before order by id;
select setval('audit_numbers', coalesce(max(id), 1), max(id) is not null) from audit;
drop table audit_before;

alter table audit add primary key (id, recorded_at);
create index audit_by_time on audit (called_at);
create index audit_by_project on audit (project_hash, called_at);
create index audit_in_order on audit (project_hash, id);
select prepare_audit();
select set_config('remit.everything', '', true);
