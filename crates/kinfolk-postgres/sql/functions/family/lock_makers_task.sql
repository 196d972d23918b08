-- Locks the task of a maker, if it still runs under the token, and returns its properties. Reads the clock after the lock.

create or replace function kinfolk.lock_makers_task(p_maker kinfolk.maker) returns kinfolk.maker
language plpgsql volatile
as $$
begin
    select t.cancel_requested_at is not null, t.queue_id, t.parent_id, t.fan_out_id, t.depth, t.priority, t.max_attempts, t.keys,
        t.child_slot, t.holds_slots
    into p_maker.is_cancelled, p_maker.queue_id, p_maker.parent_id, p_maker.fan_out_id, p_maker.depth, p_maker.priority,
        p_maker.max_attempts, p_maker.keys, p_maker.child_slot, p_maker.holds_slots
    from kinfolk.task t
    where t.id = p_maker.task_id
        and t.token = p_maker.token
        and t.worker_id is not null
    for update;
    p_maker.is_running := found;
    p_maker.now := kinfolk.clock();
    return p_maker;
end
$$;
