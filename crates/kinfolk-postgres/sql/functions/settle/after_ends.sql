-- The consequences of attempts that have ended and are written: tasks with open children wait for them, tasks below a failed
-- task are cancelled with it, parents and follow-ups are told, slots are given back, and hooks are told of errors.
-- `p_fan_outs`, `p_children`: of children that the caller has completed by itself, to be counted with the rest.
--
-- Ends are counted before anything is cancelled: a parent below a task that failed, whose last child has completed in this call,
-- has completed too. Cancelled it would be a parent that has nothing left to run again.
--
-- The caller has locked the families and the tasks. Locks what `ended` locks, upwards, then what `cancel_with_owners` locks, in families
-- that are locked whole.

create or replace function kinfolk.after_ends(
    p_ends kinfolk.attempt_end[], p_fan_outs bigint[], p_children integer[], p_now timestamptz
) returns void
language plpgsql volatile
as $$
declare
    v_ended record;
begin
    select array_agg(e.task_id) as ids,
        array_agg(e.fan_out_id) filter (where e.fan_out_id is not null and e.state >= 'completed') as fan_outs,
        array_agg(e.child) filter (where e.fan_out_id is not null and e.state >= 'completed') as children,
        array_agg(e.state) filter (where e.fan_out_id is not null and e.state >= 'completed') as states,
        array_agg(e.task_id) filter (where e.state = 'waiting') as waiting,
        array_agg(e.task_id) filter (where e.state = 'waiting' and e.own_state = 'failed') as failed,
        array_agg(e.task_id) filter (where e.was_suspended and e.root_id is null and e.state >= 'completed') as roots,
        array_agg(e.state) filter (where e.was_suspended and e.root_id is null and e.state >= 'completed') as root_states,
        array_agg(e.task_id) filter (where e.holds_slots) as holders,
        array_agg(e.task_id) filter (where e.failure is not null) as errors,
        array_agg(e.attempt::integer) filter (where e.failure is not null) as error_attempts,
        array_agg(e.failure) filter (where e.failure is not null) as failures
    into v_ended
    from unnest(p_ends) e;
    perform kinfolk.drop_intents(v_ended.ids);
    if v_ended.waiting is not null then
        perform kinfolk.wait_for_family(v_ended.waiting);
    end if;
    if p_fan_outs is not null or v_ended.fan_outs is not null then
        perform kinfolk.ended(v_ended.fan_outs || p_fan_outs, v_ended.children || p_children,
            v_ended.states || array_fill('completed'::kinfolk.state, array[coalesce(cardinality(p_fan_outs), 0)]), '{}', p_now);
    end if;
    if v_ended.failed is not null then
        perform kinfolk.cancel_with_owners(v_ended.failed, p_now);
    end if;
    if v_ended.roots is not null then
        perform kinfolk.root_ended(v_ended.roots, v_ended.root_states);
    end if;
    if v_ended.holders is not null then
        perform kinfolk.release_slots(v_ended.holders);
    end if;
    if v_ended.errors is not null then
        perform kinfolk.tell_errors(v_ended.errors, v_ended.error_attempts, v_ended.failures);
    end if;
end
$$;
