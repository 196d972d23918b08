-- Refuses a schedule that no store would keep, or whose ticks would make no task, since it names a queue or a group that is not
-- there. Whether its command is there is left to `keep_schedule`.

create or replace function kinfolk.require_schedule(p_new kinfolk.schedule) returns void
language plpgsql volatile
as $$
declare
    v_unknown text;
begin
    perform kinfolk.require_name('schedule', p_new.name);
    if num_nulls(p_new.cron, p_new.zone, p_new.missed, p_new.overlap, p_new.paused) > 0 or p_new.missed not in ('once', 'all', 'skip')
        or p_new.overlap not in ('allow', 'skip')
    then
        raise exception using errcode = 'KF001', message = 'p_cron, p_zone, p_missed, p_overlap or p_paused is null or unknown',
            hint = 'p_missed is once, all or skip; p_overlap is allow or skip';
    end if;
    perform kinfolk.require_given(p_new.payload, p_new.due);
    perform kinfolk.require_tasks(kinfolk.made_of(1, kinfolk.task_of(p_new)), array[1], 1);
    perform kinfolk.require_keys(array[p_new.keys]);
    if not exists (select from kinfolk.command c where c.name = p_new.command) then
        return;
    end if;
    if p_new.queue is not null and not exists (select from kinfolk.queue q where q.name = p_new.queue) then
        raise exception using errcode = 'KF002', message = format('there is no queue %s', p_new.queue),
            hint = 'register a command on it, or make it with `kinfolk queue set`', detail = 'queue';
    end if;
    select kinfolk.unknown_group(c.id, p_new.keys) into v_unknown from kinfolk.command c where c.name = p_new.command;
    if v_unknown is not null then
        raise exception using errcode = 'KF002',
            message = format('there is no group %s of command %s', v_unknown, p_new.command),
            hint = 'leave the key out, or declare the group with its command', detail = 'group';
    end if;
end
$$;
