-- Locks the running tasks of lost workers, one page of them by number, and decides what becomes of them, as
-- `kinfolk_core::decide::recover` and, for a task that was suspended before, `join` decide. Passes over those that are being
-- settled, those of families that are not among `p_families` or, if they were suspended before, `p_suspended`, and those whose
-- handlers are at work (`p_at_work`). Reads `task_running`.

create or replace function kinfolk.decide_lost(
    p_lost uuid[], p_families bigint[], p_suspended bigint[], p_at_work bigint[], p_now timestamptz
) returns kinfolk.attempt_end[]
language plpgsql volatile
as $$
begin
    return array(
        with held as materialized (
            select t.id, t.command_id, t.queue_id, t.parent_id, t.root_id, t.fan_out_id, t.nth as child, t.lane, t.child_slot, t.was_suspended,
                t.holds_slots, t.runs, t.attempt, t.started_at, t.worker_id, t.suspect, t.strikes, t.result, c.max_strikes,
                t.cancel_requested_at is not null as is_cancelled, w.renewed_at < kinfolk.server_started_at() as is_restart
            from kinfolk.task t
            join kinfolk.worker w on w.id = t.worker_id
            join kinfolk.command c on c.id = t.command_id
            where t.worker_id = any (p_lost)
                and t.state = 'running'
                and (t.root_id is null or t.root_id = any (p_families))
                and (not t.was_suspended or coalesce(t.root_id, t.id) = any (p_suspended))
                and hashint8(t.id)::bigint & 4294967295 <> all (p_at_work)
            order by t.worker_id, t.id
            limit kinfolk.sweep_page()
            for update of t skip locked
        ),
        struck as materialized (
            select h.*, h.suspect and not h.is_restart as is_struck,
                h.strikes + (h.suspect and not h.is_restart)::integer as next_strikes
            from held h
        ),
        decided as materialized (
            select s.*, o.own_state, kinfolk.joined_state(o.own_state, k.open, 0) as state
            from struck s
            cross join lateral (
                select case
                    when s.is_cancelled then 'cancelled'::kinfolk.state
                    when s.is_struck and s.next_strikes >= s.max_strikes then 'failed'::kinfolk.state
                    else 'pending'::kinfolk.state
                end as own_state
            ) o
            cross join lateral kinfolk.count_children(case when s.was_suspended then s.id end) k
        )
        select row(null, d.id, d.command_id, d.queue_id, d.root_id, d.fan_out_id, d.child, d.lane, d.child_slot, d.was_suspended, d.holds_slots,
            d.runs, d.attempt, d.started_at, d.worker_id, 'lost', kinfolk.failure_lost(d.worker_id), d.own_state, d.state,
            case when d.state = 'pending' and d.is_struck then p_now + kinfolk.strike_delay(d.next_strikes) end,
            greatest(d.attempt - 1, 0), d.suspect or not d.is_restart, d.next_strikes, d.result,
            case d.own_state
                when 'cancelled' then case when d.state = 'cancelled' then kinfolk.failure_cancelled() end
                when 'failed' then kinfolk.failure_poison(d.next_strikes)
                else kinfolk.failure_lost(d.worker_id)
            end,
            case when d.parent_id is null and d.state >= 'completed' then 'top' else d.lane end)::kinfolk.attempt_end
        from decided d);
end
$$;
