-- Sessions of older clients that move between gateways: the keys that seal their ids, and the sessions that cannot move.

create table session_keys (
    id text collate "C" primary key,
    key text not null, -- hexadecimal
    created_at bigint not null
);

create table bound_sessions (
    digest text collate "C" primary key, -- of the id
    bound_at bigint not null
);
create index bound_sessions_by_time on bound_sessions (bound_at);

do $$
declare
    name text;
begin
    foreach name in array array['session_keys', 'bound_sessions'] loop
        execute format('create policy scope on %I using ((select everywhere()))', name);
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
    end loop;
end $$;
