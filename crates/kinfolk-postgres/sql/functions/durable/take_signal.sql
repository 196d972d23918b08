-- Takes the oldest kept signal of this name for a running task, and records it under this key, as `[value]`. Returns `taken`
-- with the value, also when the same call did so before; `nothing`; or `stale`.
--
-- Locks the task, and waits for nothing after that.
create or replace function kinfolk.take_signal(
    p_task bigint, p_token uuid, p_branch text, p_name text, p_occurrence integer, p_signal text,
    out answer text, out value jsonb
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_old record;
    v_signal record;
begin
    if num_nulls(p_task, p_token, p_signal) > 0 then
        raise exception using errcode = 'KF001', message = 'p_task, p_token or p_signal is null',
            hint = 'give the number of the task, the token of its claim and the name of the signal';
    end if;
    perform kinfolk.require_read_committed();
    perform kinfolk.require_checkpoints(row(array[p_branch], array[p_name], array[p_occurrence], array['signal'], array[''],
        array['[]'::jsonb])::kinfolk.checkpoints);
    if kinfolk.lock_attempt(p_task, p_token) is null then
        answer := 'stale';
        return;
    end if;
    select c.kind, c.value
    into v_old
    from kinfolk.checkpoint c
    where c.task_id = p_task
        and c.branch = p_branch
        and c.name = p_name
        and c.occurrence = p_occurrence;
    if found and v_old.kind <> 'signal' then
        raise exception using errcode = 'KF001',
            message = format('task %s has already recorded step %s', p_task, kinfolk.step_name(p_branch, p_name, p_occurrence));
    elsif found then
        answer := case when jsonb_array_length(v_old.value) > 0 then 'taken' else 'nothing' end;
        value := v_old.value -> 0;
        return;
    end if;
    select s.arrival, s.value
    into v_signal
    from kinfolk.signal s
    where s.task_id = p_task
        and s.name = p_signal
    order by s.arrival
    limit 1;
    if not found then
        answer := 'nothing';
        return;
    end if;
    delete from kinfolk.signal s where s.task_id = p_task and s.arrival = v_signal.arrival;
    perform kinfolk.write_checkpoint(p_task, p_branch, p_name, p_occurrence, 'signal', '', jsonb_build_array(v_signal.value));
    answer := 'taken';
    value := v_signal.value;
end
$$;
