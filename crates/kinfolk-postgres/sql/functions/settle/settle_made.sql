-- Records that an attempt was done and what it made, in one transaction: siblings, children, follow-ups and other tasks, given
-- as one array a property, in that order of kinds (`sibling`, `child`, `follow_up`, `task`). With open children the task
-- waits. If one of them can't be made, none is, and the attempt has failed: the first that can't be, says why. A stale or
-- repeated settle, and one of a task whose end is asked for, makes nothing. The answer is as that of `settle`.
--
-- `p_slot_keys`: keys in the groups of their commands; `p_inherits`: whether they take those of their maker too.
-- `p_order`: how the children run. `p_whens`: what follow-ups wait for (`settled`, `completed`). `p_ids`: numbers taken before.
--
-- Locks the family (shared; whole, if the task was suspended before), the keys of follow-ups, the task; then, if there are
-- siblings, the fan-out of its parent; then what `make_follow_up` and `ended` lock.

create or replace function kinfolk.settle_made(
    p_task bigint, p_token uuid, p_result jsonb, p_order text, p_kinds text[], p_commands text[], p_payloads jsonb[],
    p_queues text[] default '{}', p_priorities integer[] default '{}', p_dues timestamptz[] default '{}',
    p_delays_us bigint[] default '{}', p_keys text[] default '{}', p_scopes text[] default '{}', p_windows_us bigint[] default '{}',
    p_on_duplicates text[] default '{}', p_max_attempts integer[] default '{}', p_timeouts_us bigint[] default '{}',
    p_traces text[] default '{}', p_whens text[] default '{}', p_ids bigint[] default '{}', p_slot_keys jsonb[] default '{}',
    p_inherits boolean[] default '{}'
) returns table (answer text, state text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_maker kinfolk.maker;
    v_made kinfolk.made := row(p_kinds, p_ids, p_commands, p_payloads, p_queues, p_priorities, p_dues, p_delays_us, p_keys,
        p_scopes, p_windows_us, p_on_duplicates, p_max_attempts, p_timeouts_us, p_traces, p_whens, p_slot_keys, p_inherits,
        null, null, null, null, null, null, null, null);
    v_children integer;
begin
    perform kinfolk.require_read_committed();
    perform kinfolk.require_settles(array[p_task], array[p_token], array['done'], array[p_result], '{}', '{}');
    v_made.largest := kinfolk.require_made(v_made, p_order, p_kinds);
    v_maker := kinfolk.lock_maker(p_task, p_token, p_kinds, p_commands, p_keys);

    -- point: made.begun
    v_maker := kinfolk.hold_maker(v_maker);
    if not v_maker.is_held or v_maker.is_cancelled then
        return query select r.answer, r.state from kinfolk.settle_maker(v_maker, 'done', p_result, null) r;
        return;
    end if;

    -- point: made.locked
    v_made := kinfolk.resolve_made(v_made, v_maker);
    if v_made.refused is not null then
        return query select r.answer, r.state from kinfolk.settle_refused(v_maker, v_made) r;
        return;
    end if;
    if cardinality(p_ids) = 0 then
        v_made.ids := array(select nextval('kinfolk.task_id') from generate_series(1, cardinality(p_kinds)));
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
