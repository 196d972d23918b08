-- Makes or changes a schedule, armed by the caller. What it fired before is kept. Answers it as it is then, or nothing
-- when its command is unknown; one that names a queue or a group that is not there is refused, for its ticks would make
-- no task. Locks the schedule.

create or replace function kinfolk.put_schedule(
    p_name text, p_cron text, p_zone text, p_missed text, p_overlap text, p_paused boolean, p_next_at timestamptz,
    p_command text, p_payload jsonb, p_queue text, p_priority integer, p_due timestamptz, p_delay_us bigint,
    p_unique_key text, p_unique_scope text, p_unique_window_us bigint, p_on_duplicate text, p_max_attempts integer,
    p_timeout_us bigint, p_trace text, p_slot_keys jsonb default null
) returns setof kinfolk.schedule
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_command integer;
    v_unknown text;
begin
    perform kinfolk.require_name('schedule', p_name);
    if num_nulls(p_cron, p_zone, p_missed, p_overlap, p_paused) > 0 or p_missed not in ('once', 'all', 'skip')
        or p_overlap not in ('allow', 'skip')
    then
        raise exception using errcode = 'KF001', message = 'p_cron, p_zone, p_missed, p_overlap or p_paused is null or unknown',
            hint = 'p_missed is once, all or skip; p_overlap is allow or skip';
    end if;
    perform kinfolk.require_given(p_payload, p_due);
    perform kinfolk.require_tasks(kinfolk.made_of(1, row(p_command, p_payload, p_queue, p_priority, p_due, p_delay_us, p_unique_key,
        p_unique_scope, p_unique_window_us, p_on_duplicate, p_max_attempts, p_timeout_us, p_trace, p_slot_keys)::kinfolk.given_task),
        array[1], 1);
    perform kinfolk.require_keys(array[p_slot_keys]);
    select c.id into v_command from kinfolk.command c where c.name = p_command;
    if not found then
        return;
    end if;
    if p_queue is not null and not exists (select from kinfolk.queue q where q.name = p_queue) then
        raise exception using errcode = 'KF002', message = format('there is no queue %s', p_queue),
            hint = 'register a command on it, or make it with `kinfolk queue set`', detail = 'queue';
    end if;
    v_unknown := kinfolk.unknown_group(v_command, p_slot_keys);
    if v_unknown is not null then
        raise exception using errcode = 'KF002',
            message = format('there is no group %s of command %s', v_unknown, p_command),
            hint = 'leave the key out, or declare the group with its command', detail = 'group';
    end if;
    return query
    insert into kinfolk.schedule as s
        (name, cron, zone, missed, overlap, paused, next_at, command, payload, queue, priority, due, delay_us,
        unique_key, unique_scope, unique_window_us, on_duplicate, max_attempts, timeout_us, trace, keys)
    values
        (p_name, p_cron, p_zone, p_missed, p_overlap, p_paused, p_next_at, p_command, p_payload, p_queue, p_priority,
        p_due, p_delay_us, p_unique_key, p_unique_scope, p_unique_window_us, p_on_duplicate, p_max_attempts,
        p_timeout_us, p_trace, p_slot_keys)
    on conflict (name) do update set
        cron = excluded.cron,
        zone = excluded.zone,
        missed = excluded.missed,
        overlap = excluded.overlap,
        paused = excluded.paused,
        -- Never back to a tick that was fired while the caller was looking at the clock.
        next_at = case when excluded.next_at <= s.last_at then s.next_at else excluded.next_at end,
        command = excluded.command,
        payload = excluded.payload,
        queue = excluded.queue,
        priority = excluded.priority,
        due = excluded.due,
        delay_us = excluded.delay_us,
        unique_key = excluded.unique_key,
        unique_scope = excluded.unique_scope,
        unique_window_us = excluded.unique_window_us,
        on_duplicate = excluded.on_duplicate,
        max_attempts = excluded.max_attempts,
        timeout_us = excluded.timeout_us,
        trace = excluded.trace,
        keys = excluded.keys
    returning s.*;
end
$$;
