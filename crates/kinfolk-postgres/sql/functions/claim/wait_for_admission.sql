-- Waits for the admission lock of a queue, but not for long: another claim may be part of a transaction that stays open.
-- Answers whether this call has it.
create or replace function kinfolk.wait_for_admission(p_queue integer) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
begin
    perform pg_advisory_xact_lock(1263160904, p_queue);
    return true;
exception
    when lock_not_available then
        return false;
end
$$;
