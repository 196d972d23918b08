-- The tasks that are not ready among the first tasks of each line behind a key, without those that a claim has taken. `p_is_full`: only
-- tasks that need no slot of that key, and wait for its rate. `p_kept_for`: this task, too, wherever it stands behind that key. Locks
-- nothing. Reads `task_blocked`.
create or replace function kinfolk.foremost_waiters(
    p_group integer, p_key text, p_most bigint, p_is_full boolean, p_kept_for bigint, p_taken bigint[]
) returns table (id bigint)
language sql stable
as $$
    select t.id
    from kinfolk.waiting_lines(p_group, p_key) l
    cross join lateral (
        select t.id, t.gate
        from kinfolk.task t
        where t.blocked_group = p_group
            and t.blocked_key = p_key
            and t.queue_id = l.queue_id
            and t.command_id = l.command_id
            and t.lane = l.lane
            and t.suspect = l.suspect
            and t.id <> all (p_taken)
        order by t.priority, t.position, t.id
        limit least(p_most, kinfolk.claim_batch_max())
    ) t
    where t.gate = 'limit'
        and (p_is_full is not true or kinfolk.holds_slot(t.id, p_group, p_key))
    union
    select t.id
    from (
        select t.id, t.blocked_group, t.blocked_key, t.gate
        from kinfolk.task t
        where t.id = p_kept_for
        offset 0
    ) t
    where t.blocked_group = p_group
        and t.blocked_key = p_key
        and t.gate = 'limit'
$$;
