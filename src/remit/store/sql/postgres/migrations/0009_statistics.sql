-- The planner knows of new rows once the database has analyzed a table, up to a minute later. Until then it takes a
-- table with a new list of 10,000 tools for a small one, and joins each row with each other.

create function refresh_statistics() returns void
language plpgsql security definer set search_path = remit, pg_temp as $$
declare
    grown text;
begin
    for grown in
        select relname from pg_class
        where relnamespace = 'remit'::regnamespace
            and relname in ('tools', 'definitions', 'pins', 'documents', 'document_terms', 'vectors')
            and pg_relation_size(oid) > 8192 * (2 * greatest(relpages, 0) + 8)
        order by relname
    loop
        execute format('analyze %I', grown);
    end loop;
end $$;
