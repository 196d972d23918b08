-- Resumes the suspended ones of these waiting tasks, which the caller has locked (behind the gate `family` where their family was
-- retried and waits for room), and ends those whose own work is over and that have no open child. The statement begins after the
-- locks, so it sees all ends that were counted. Runs under the settings of `settle_owners`.
create or replace function kinfolk.write_owners(p_owners bigint[], p_now timestamptz) returns kinfolk.ended_owners
language plpgsql volatile
as $$
declare
    v_ended kinfolk.ended_owners;
begin
    with owner as materialized (
        select o.* from kinfolk.waiting_owners(p_owners) o
    ),
    resumed as (
        update kinfolk.task t
        set
            state = 'pending',
            gate = case when t.root_id is null then 'open' else kinfolk.gate_in_family(t.root_id, p_now, p_now) end,
            due = case when t.gate = 'time' then p_now else t.due end,
            signals = null
        from owner o
        where t.id = o.id
            and o.outcome is null
        returning t.queue_id
    ),
    over as materialized (
        select o.*, k.failed, k.total, kinfolk.joined_state(o.outcome, k.open, k.failed) as next_state
        from owner o
        cross join lateral kinfolk.count_children(o.id) k
        where o.outcome is not null
            and k.open = 0
    ),
    ended as (
        update kinfolk.task t
        set
            state = o.next_state,
            outcome = case when o.next_state = 'failed' and t.outcome = 'completed' then t.outcome end,
            failure = kinfolk.joined_failure(o.next_state, t.outcome, t.failure, o.failed, o.total),
            finished_at = p_now,
            unique_held = t.unique_held and t.unique_scope = 'window',
            lane = case when t.parent_id is null then 'top'::kinfolk.lane else t.lane end
        from over o
        where t.id = o.id
    ),
    stilled as (
        update kinfolk.fan_out f
        set waits = false
        from over o
        where f.task_id = o.id
    )
    select array_agg(e.id) filter (where e.fan_out_id is null),
        array_agg(e.next_state) filter (where e.fan_out_id is null),
        array_agg(distinct e.queue_id) filter (where e.fan_out_id is null),
        array_agg(e.fan_out_id) filter (where e.fan_out_id is not null),
        array_agg(e.nth) filter (where e.fan_out_id is not null),
        array_agg((e.depth - 1)::smallint) filter (where e.fan_out_id is not null),
        array_agg(e.next_state) filter (where e.fan_out_id is not null),
        (select array_agg(distinct r.queue_id) from resumed r),
        array_agg(e.id) filter (where e.holds_slots)
    into v_ended
    from over e;
    return v_ended;
end
$$;
