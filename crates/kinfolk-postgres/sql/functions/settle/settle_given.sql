-- Records that an attempt was done and what it made, in one transaction: siblings, children, follow-ups and other tasks, in that
-- order of kinds (`sibling`, `child`, `follow_up`, `task`). With open children the task waits. If one of them can't be made, none
-- is, and the attempt has failed: the first that can't be, says why. A stale or repeated settle, and one of a task whose end is
-- asked for, makes nothing. The answer is as that of `settle`.
--
-- `p_order`: how the children run. Of what was made, `whens`: what follow-ups wait for (`settled`, `completed`).
--
-- Locks the family (shared; whole, if the task was suspended before), the keys of follow-ups, the task; then, if there are
-- siblings, the fan-out of its parent; then what `make_follow_up` and `ended` lock. Runs under the settings of its callers.

create or replace function kinfolk.settle_given(
    p_task bigint, p_token uuid, p_result jsonb, p_order text, p_made kinfolk.given_tasks
) returns table (answer text, state text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    v_maker kinfolk.maker;
    v_largest integer;
    v_made kinfolk.made;
    v_children integer;
begin
    perform kinfolk.require_read_committed();
    perform kinfolk.require_settles(array[p_task], array[p_token], array['done'], array[p_result], '{}', '{}');
    v_largest := kinfolk.require_made(p_made, p_order, p_made.kinds);
    v_maker := kinfolk.lock_makers_family(p_task, p_token, p_made);

    -- point: made.begun
    v_maker := kinfolk.lock_makers_task(v_maker);
    if not v_maker.is_running or v_maker.is_cancelled then
        return query select r.answer, r.state from kinfolk.settle_maker(v_maker, 'done', p_result, null) r;
        return;
    end if;

    -- point: made.locked
    v_made := kinfolk.resolve_made(p_made, v_largest, v_maker);
    if v_made.refused is not null then
        return query select r.answer, r.state from kinfolk.settle_refused(v_maker, v_made) r;
        return;
    end if;
    if cardinality(v_made.ids) = 0 then
        v_made.ids := array(select nextval('kinfolk.task_id') from generate_series(1, cardinality(v_made.kinds)));
    end if;
    v_children := kinfolk.make_all(v_maker, v_made, p_order, true);
    -- point: made.written
    perform kinfolk.notify_queues(v_made.notify, false);
    if v_children = 0 then
        return query select r.answer, r.state from kinfolk.settle_maker(v_maker, 'done', p_result, null) r;
        return;
    end if;
    perform kinfolk.wait_for_children(v_maker, p_result);
    return query select 'recorded', 'waiting';
end
$$;
