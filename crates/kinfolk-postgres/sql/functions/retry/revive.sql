-- Sets a task that has failed or was cancelled going again, and with it all below it that did so. Tasks whose own work did not come to
-- its end become pending with fresh attempts, at their old position; parents whose own work was done wait again; a task whose handler
-- did not end well because of fan-outs that it awaited waits for those again, from before it heard of their end, or goes on at once if
-- nothing is open in one of them (`decide_again`). Answers how many pend and how many wait. `p_first`: the gate of the task, `p_rest`:
-- of those below it. The follow-ups of a root's family wait for it again; a follow-up that is retried by itself waits for nobody.
-- Refuses before it writes (KF003, detail: the state of the task) if one of them would wait for nothing.
--
-- The caller has locked the family as a whole, its follow-ups (`lock_follow_ups`) and the task. Locks the other tasks, then their
-- fan-outs, then entries of follow-ups. Reads `fan_out_task` and `task_fan_out`, and of each fan-out that is set going again all
-- children, to count them anew.

create or replace function kinfolk.revive(
    p_task bigint, p_first kinfolk.gate, p_rest kinfolk.gate, p_now timestamptz, out pending bigint, out waiting bigint
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_revived record;
    v_state kinfolk.state;
    v_resumed bigint;
begin
    select array_agg(g.id order by g.id) filter (where not g.joins) as afresh,
        array_agg(g.gate order by g.id) filter (where not g.joins) as gates,
        array_agg(g.id order by g.id) filter (where g.joins) as joining,
        array_agg(g.id) filter (where g.cut is not null) as suspended,
        array_agg(g.cut) filter (where g.cut is not null) as cuts,
        array_agg(distinct g.queue_id) filter (where g.gate is not null or g.id = p_task) as queues,
        count(*) filter (where g.gate is not null) as pending,
        count(*) filter (where g.gate is null) as waiting,
        bool_or(g.is_lost) as is_lost
    into v_revived
    from kinfolk.revived_with(p_task, p_first, p_rest) g;
    if v_revived.is_lost then
        select t.state into v_state from kinfolk.task t where t.id = p_task;
        raise exception using errcode = 'KF003', message = format('task %s is %s', p_task, v_state),
            hint = 'its failed tasks have been removed by retention, enqueue it anew', detail = v_state::text;
    end if;
    pending := v_revived.pending;
    waiting := v_revived.waiting;
    perform kinfolk.reopen(v_revived.suspended, v_revived.cuts);
    perform kinfolk.begin_afresh(v_revived.afresh, v_revived.gates, p_now);
    update kinfolk.task t
    set
        state = 'waiting',
        outcome = 'completed',
        finished_at = null,
        cancel_requested_at = null,
        failure = null
    from unnest(v_revived.joining) as g(id)
    where t.id = g.id;
    perform kinfolk.recount(array(
        select f.id
        from unnest(v_revived.joining || v_revived.afresh) as g(id)
        cross join lateral (select f.id from kinfolk.fan_out f where f.task_id = g.id offset 0) f));
    v_resumed := kinfolk.decide_again(v_revived.suspended, p_now);
    pending := pending + v_resumed;
    waiting := waiting - v_resumed;
    delete from kinfolk.skipped_follow_up s where s.task_id = p_task;
    perform kinfolk.follow_again(p_task);
    perform kinfolk.notify_queues(v_revived.queues, false);
end
$$;
