-- The admission locks of groups: class 1263160910, the group's number, taken in the order of numbers, before any row.
-- Who has one decides alone who gets slots of the group until it commits. Number 0 is that of those who change which
-- groups there are.

-- Takes those locks if they are free at once, and says whether all of them were. The first that is not ends it.
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

-- Waits for those locks, but not for long: someone may have claimed in a transaction that stays open. Answers whether they
-- were had.
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

-- Waits for those locks as long as it takes.
create or replace function kinfolk.lock_groups(p_groups integer[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform pg_advisory_xact_lock(1263160910, g.id)
    from (select distinct u as id from unnest(p_groups) u order by 1) g;
end
$$;
