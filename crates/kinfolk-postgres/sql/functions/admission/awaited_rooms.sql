-- The rooms of those keys, among these, that have a task behind them. Where a rate is in the way, stores when it allows a start again.
--
-- For the callers of `key_rooms`. Reads `task_blocked`. Runs under the settings of `open_waiters`.
create or replace function kinfolk.awaited_rooms(p_groups integer[], p_keys text[], p_now timestamptz)
returns table (group_id integer, key text, free bigint, kept_for bigint, room bigint)
language plpgsql volatile
as $$
#variable_conflict use_column
begin
    return query
    with room as materialized (
        select r.*
        from (
            select array_agg(k.group_id) as groups, array_agg(k.key) as keys
            from (select distinct u.group_id, u.key from unnest(p_groups, p_keys) as u(group_id, key)) k
            -- Most keys have no task behind them: one look is enough for those.
            cross join lateral (
                select
                from kinfolk.task t
                where t.blocked_group = k.group_id
                    and t.blocked_key = k.key
                order by t.blocked_group, t.blocked_key
                limit 1
            ) waiter
        ) a
        cross join lateral kinfolk.key_rooms(a.groups, a.keys, p_now) r
    ),
    slow as (
        insert into kinfolk.spent (group_id, key, wakes_at)
        select r.group_id, r.key, r.opens_at
        from room r
        where least(r.starts, 2) <= r.keeps::integer
            and r.opens_at is not null
        on conflict (group_id, key) do update set wakes_at = excluded.wakes_at
    )
    select r.group_id, r.key, least(r.free, r.starts), r.kept_for, r.room from room r;
end
$$;
