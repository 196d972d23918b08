-- Carries out what was planned for a due schedule, if it is still armed for that tick: so each tick is fired once, by
-- whoever comes first. Locks the schedule, then enqueues; a tick whose predecessor has not ended is left out where the
-- schedule says so. `rejected` and `missing`: for each tick that made no task the word for why not, and what is not
-- there.

create or replace function kinfolk.fire(
    p_name text, p_armed_for timestamptz, p_ticks timestamptz[], p_next_at timestamptz,
    out tasks bigint[], out overlapped bigint, out too_late boolean, out rejected text[], out missing text[]
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_schedule kinfolk.schedule;
    v_last bigint;
    v_id bigint;
    v_answer record;
begin
    if num_nulls(p_name, p_ticks) > 0 then
        raise exception using errcode = 'KF001', message = 'p_name or p_ticks is null',
            hint = 'give the name of the schedule, and the ticks that are due';
    end if;
    tasks := '{}';
    overlapped := 0;
    too_late := false;
    rejected := '{}';
    missing := '{}';
    perform kinfolk.require_read_committed();
    select s.* into v_schedule from kinfolk.schedule s where s.name = p_name for update;
    if not found then
        raise exception using errcode = 'KF002', message = format('there is no schedule %s', p_name);
    end if;
    if v_schedule.paused or v_schedule.next_at is distinct from p_armed_for then
        too_late := true;
        return;
    end if;
    v_last := v_schedule.last_task;
    for i in 1 .. cardinality(p_ticks) loop
        if v_schedule.overlap = 'skip' and exists (select from kinfolk.task t where t.id = v_last and t.state < 'completed') then
            overlapped := overlapped + 1;
            continue;
        end if;
        v_id := nextval('kinfolk.task_id');
        select r.outcome, r.id, r.name
        into v_answer
        from kinfolk.enqueue_tasks(kinfolk.made_of(v_id, kinfolk.task_of(v_schedule))) r;
        if not found then
            tasks := tasks || v_id;
            v_last := v_id;
        elsif v_answer.id is not null then
            v_last := v_answer.id;
        else
            rejected := rejected || v_answer.outcome;
            missing := missing || v_answer.name;
        end if;
    end loop;
    update kinfolk.schedule s
    set
        next_at = p_next_at,
        last_at = coalesce(p_ticks[cardinality(p_ticks)], s.last_at),
        last_task = v_last
    where s.name = p_name;
end
$$;
