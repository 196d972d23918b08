-- Takes the admission locks of groups and waits for them: class 1263160910, the group's number, in the order of numbers,
-- before any row. The transaction with such a lock alone decides which tasks get slots of the group, until it commits. Number
-- 0 guards a change of the set of groups.

create or replace function kinfolk.lock_groups(p_groups integer[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform pg_advisory_xact_lock(1263160910, g.id)
    from (select distinct u as id from unnest(p_groups) u order by 1) g;
end
$$;
