-- Takes the hints of groups: removes the holders that they name, and opens the waiters of keys that may have room. A freed slot, a
-- rate that allows a start again, and a reservation that does not count now can each give a key room. Answers whether there are
-- more hints. `p_queue`: the queue that need not be woken.
--
-- The caller has the admission locks of these groups. Takes due keys by `spent_wakes`; see `take_freed` and `open_waiters`.
create or replace function kinfolk.take_hints(p_queue integer, p_groups integer[], p_now timestamptz) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    -- No other claim blocks a task behind these keys meanwhile.
    v_awaited integer[] := kinfolk.awaited_groups(p_groups);
    v_freed record;
    v_unkept record;
    v_keys record;
begin
    select n.groups, n.keys, n.has_more into v_freed from kinfolk.take_freed(p_groups, v_awaited <> '{}') n;
    if v_awaited = '{}' then
        return false;
    end if;
    select u.groups, u.keys into v_unkept from kinfolk.unkept_keys(p_groups, p_now) u;
    with woken as (
        update kinfolk.spent s
        set wakes_at = null
        where s.group_id = any (p_groups)
            and s.wakes_at <= p_now
        returning s.group_id, s.key
    )
    select array_agg(k.group_id) as groups, array_agg(k.key) as keys
    into v_keys
    from (
        select f.group_id, f.key
        from unnest(v_freed.groups, v_freed.keys) as f(group_id, key)
        where f.group_id = any (v_awaited)
        union all
        select u.group_id, u.key from unnest(v_unkept.groups, v_unkept.keys) as u(group_id, key)
        union all
        select w.group_id, w.key from woken w
    ) k;
    if v_keys.keys is not null then
        perform kinfolk.open_waiters(v_keys.groups, v_keys.keys, p_queue, 0, '{}', p_now);
    end if;
    return v_freed.has_more;
end
$$;
