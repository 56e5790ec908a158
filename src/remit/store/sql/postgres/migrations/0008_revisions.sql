-- A part's revision rises once in a transaction. A list of 10,000 tools raised it for each row, and each of these
-- updates had to pass the versions of the row that the ones before it had left.

create or replace function revise() returns trigger
language plpgsql security definer set search_path = remit, pg_temp as $$
begin
    -- A row of this transaction has its number; inside a savepoint it has another, and rises again.
    if exists (
        select 1 from revisions
        where part = tg_argv[0] and writer = pg_backend_pid() and xmin = pg_current_xact_id()::xid
    ) then
        return null;
    end if;
    insert into revisions (part, writer, number) values (tg_argv[0], pg_backend_pid(), 1)
    on conflict (part, writer) do update set number = revisions.number + 1;
    perform pg_notify('remit', tg_argv[0]);
    return null;
end $$;
