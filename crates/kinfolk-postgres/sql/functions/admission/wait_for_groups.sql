-- Waits for the admission locks of groups, for a second at most: another claim may be part of a transaction that stays open. Answers whether it
-- has them.
create or replace function kinfolk.wait_for_groups(p_groups integer[]) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
as $$
begin
    perform kinfolk.lock_groups(p_groups);
    return true;
exception
    when lock_not_available then
        return false;
end
$$;
