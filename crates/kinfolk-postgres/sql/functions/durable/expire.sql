-- Gives up a fan-out that the handler of a running task awaits, if its deadline has passed and it has no verdict: cancels its
-- open children. Returns the fan-out as it is then; no row when the token no longer holds. Errors: KF002 when the task has no
-- such fan-out.
--
-- Locks the family exclusively, so that no child ends meanwhile; then the task; then what `cancel_below` locks.

create or replace function kinfolk.expire(p_task bigint, p_token uuid, p_fan_out bigint)
returns table (
    id bigint, task bigint, rule text, parts integer, total bigint, completed bigint, failed bigint, cancelled bigint,
    verdict text, decided_at integer, deadline timestamptz, created_at timestamptz, settled_at timestamptz
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_now timestamptz;
    v_steps integer;
begin
    if num_nulls(p_task, p_token, p_fan_out) > 0 then
        raise exception using errcode = 'KF001', message = 'p_task, p_token or p_fan_out is null',
            hint = 'give the number of the task, the token of its claim and the fan-out';
    end if;
    perform kinfolk.require_read_committed();
    perform kinfolk.lock_families(array[coalesce(t.root_id, t.id)], true)
    from kinfolk.task t
    where t.id = p_task;
    -- point: expire.begun
    v_steps := kinfolk.lock_attempt(p_task, p_token);
    if v_steps is null then
        return;
    end if;
    if not exists (
        select
        from kinfolk.fan_out f
        where f.id = p_fan_out
            and f.task_id = p_task
            and f.rule is not null)
    then
        raise exception using errcode = 'KF002', message = format('there is no fan-out %s of task %s', p_fan_out, p_task);
    end if;
    v_now := kinfolk.clock();
    update kinfolk.fan_out f
    set
        verdict = 'timed_out',
        settled_at = v_now,
        decided_at = f.completed + f.failed + f.cancelled,
        decided_step = v_steps
    where f.id = p_fan_out
        and f.verdict is null
        and f.deadline <= v_now;
    -- point: expire.decided
    if found then
        perform kinfolk.cancel_below(array[p_fan_out], v_now);
    end if;
    return query
    select f.id, f.task_id, f.rule, f.parts, f.total::bigint, f.completed::bigint, f.failed::bigint, f.cancelled::bigint,
        f.verdict, f.decided_at, f.deadline, f.created_at, f.settled_at
    from kinfolk.fan_out f
    where f.id = p_fan_out;
end
$$;
