-- The keys of groups with room that a reservation keeps though it does not count now. Nothing says when a worker has died, or a queue was
-- paused: the tasks that wait for that room hear of it here. The caller has the admission locks. Reads `reserved` by group.
create or replace function kinfolk.unkept_keys(p_groups integer[], p_now timestamptz, out groups integer[], out keys text[])
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    if not exists (select from kinfolk.reserved r where r.group_id = any (p_groups)) then
        return;
    end if;
    select array_agg(r.group_id), array_agg(r.key)
    into groups, keys
    from (
        select array_agg(r.group_id) as groups, array_agg(r.key) as keys
        from kinfolk.reserved r
        where r.group_id = any (p_groups)
            and not kinfolk.keeps_room(r.task_id, p_now)
    ) k
    cross join lateral kinfolk.key_rooms(k.groups, k.keys, p_now) r
    where r.room > 0;
end
$$;
