-- How a key is now: its slots, how many are held and the first holders, how many tasks wait behind it, and until when nothing may
-- start under it. Reads the pages of `slot_holder` and `task_blocked`.
create or replace function kinfolk.key_facts(
    p_group integer, p_key text, p_now timestamptz, out slots integer, out held bigint, out holders bigint[], out waiters bigint,
    out opens_at timestamptz
)
language plpgsql stable
as $$
begin
    select kinfolk.slots_of(p_group, p_key), h.held, coalesce(h.holders, '{}'), w.waiters, r.opens_at
    into slots, held, holders, waiters, opens_at
    from kinfolk.key_rooms(array[p_group], array[p_key], p_now) r
    cross join lateral (
        select count(*) as held, (array_agg(h.task_id order by h.task_id))[:kinfolk.holders_shown_max()] as holders
        from kinfolk.holders_of(p_group, p_key) h
    ) h
    cross join lateral (
        select count(*) as waiters
        from kinfolk.task t
        where t.blocked_group = p_group
            and t.blocked_key = p_key
            and t.gate = 'limit'
    ) w;
end
$$;
