-- Whoever has a gateway's password can add entries to the audit log, but no numbers that nobody could have measured.
-- Entries that exist, and those that the owner copies with their numbers, stay as they are. The error is one of data,
-- so that a gateway sets such an entry aside instead of trying again.
create or replace function number_audit() returns trigger
language plpgsql security definer set search_path = remit, pg_temp as $$
begin
    if new.id is null then
        if new.called_at not between 0 and 253402300799999 -- the year 9999
            or new.duration_ms not between 0 and 253402300799999
            or new.bytes_in not between 0 and 9007199254740991 -- exact in JSON
            or new.bytes_out not between 0 and 9007199254740991
        then
            raise exception using errcode = 'numeric_value_out_of_range', message = 'a number of this call is out of range';
        end if;
        new.id := nextval('remit.audit_numbers');
    end if;
    return new;
end $$;
