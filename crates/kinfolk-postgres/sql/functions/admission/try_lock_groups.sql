-- Takes the admission locks of groups (see `lock_groups`) if they are free at once, and says whether all of them were. Stops
-- at the first one that is not free.

create or replace function kinfolk.try_lock_groups(p_groups integer[]) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_group integer;
begin
    foreach v_group in array p_groups loop
        if not pg_try_advisory_xact_lock(1263160910, v_group) then
            return false;
        end if;
    end loop;
    return true;
end
$$;
