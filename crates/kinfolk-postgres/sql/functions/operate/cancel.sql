-- Asks for the end of a task and of all its descendants, in one transaction. Pending and suspended tasks are cancelled.
-- Running tasks are asked to end, and their workers are told. Tasks with open children wait, to be cancelled with their last
-- child. Answers `now` if the task has ended with that, else `requested`; or the state in which it had ended already; or
-- `not_found`.
--
-- Locks the family as a whole, so that its shape stands still: only claims go on in it. Then the rows of the tasks by number,
-- then what `ended` locks, upwards. Reads `fan_out_task` and `task_fan_out`: each step is a look-up by key, whatever the
-- planner believes about how many tasks are open.

create or replace function kinfolk.cancel(p_task bigint) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
    v_now timestamptz;
    v_ids bigint[];
    v_ended record;
    v_task record;
begin
    if p_task is null then
        raise exception using errcode = 'KF001', message = 'p_task is null',
            hint = 'give the number of a task';
    end if;
    perform kinfolk.require_read_committed();
    -- point: cancel.begun
    if not kinfolk.lock_family_of(p_task) then
        return 'not_found';
    end if;
    v_ids := kinfolk.members_below(array(select f.id from kinfolk.fan_out f where f.task_id = p_task));
    v_ids := array(select i from unnest(v_ids || p_task) i order by i);

    -- point: cancel.family_locked
    select c.many, c.fan_outs, c.children, c.was_after into v_ended from kinfolk.cancel_members(v_ids, null) c;
    v_now := kinfolk.clock();
    if v_ended.fan_outs is not null then
        perform kinfolk.ended(v_ended.fan_outs, v_ended.children,
            array_fill('cancelled'::kinfolk.state, array[cardinality(v_ended.fan_outs)]), v_ended.was_after, v_now);
    end if;

    select t.state, t.queue_id, t.parent_id, t.was_suspended into v_task from kinfolk.task t where t.id = p_task;
    -- It had ended, or did so while its row was waited for.
    if v_ended.many = 0 then
        return v_task.state;
    end if;
    if v_task.parent_id is null and v_task.state = 'cancelled' then
        -- It may have been a follow-up, and its family may have been at work.
        perform from kinfolk.follow_up f where f.task_id = p_task order by f.root_id for update;
        delete from kinfolk.follow_up f where f.task_id = p_task;
        if v_task.was_suspended then
            perform kinfolk.root_ended(array[p_task], array['cancelled'::kinfolk.state]);
        end if;
        perform kinfolk.notify_limited(array[v_task.queue_id]);
    end if;
    return case when v_task.state = 'cancelled' then 'now' else 'requested' end;
end
$$;
