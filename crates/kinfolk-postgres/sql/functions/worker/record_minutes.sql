-- Adds what a worker did since its last record to the figures of this minute. `p_number`: 1 for its first record, larger for each
-- that follows; one that is not larger than the last changes nothing, so a record whose answer was lost is sent again as it was.
-- `p_records`: an array of objects, one for each queue and command, with the columns of `minute` that are not zero.
-- Locks the worker's row, then the rows of the minute by queue and command. Reads primary keys.

create or replace function kinfolk.record_minutes(p_worker uuid, p_number bigint, p_records jsonb) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_wrong record;
begin
    if num_nulls(p_worker, p_number, p_records) > 0 then
        raise exception using errcode = 'KF001', message = 'p_worker, p_number or p_records is null',
            hint = 'give the worker, the number of the record, and an array of what it did';
    end if;
    select w.* into v_wrong from kinfolk.wrong_minute_record(p_records) w;
    if found then
        raise exception using errcode = v_wrong.code, message = v_wrong.message, hint = v_wrong.hint;
    end if;
    perform kinfolk.require_read_committed();
    update kinfolk.worker w set minutes_recorded = p_number where w.id = p_worker and w.minutes_recorded < p_number;
    if not found then
        if not exists (select from kinfolk.worker w where w.id = p_worker) then
            raise exception using errcode = 'KF004', message = format('worker %s has no lease', p_worker),
                hint = 'register anew';
        end if;
        return;
    end if;
    insert into kinfolk.minute as m
    select date_trunc('minute', kinfolk.clock(), 'UTC'), n.queue_id, n.command_id, sum(n.started), sum(n.waited_us),
        max(n.waited_max_us), sum(n.completed), sum(n.failed), sum(n.retried), sum(n.cancelled), sum(n.suspended),
        sum(n.ran_us), max(n.ran_max_us)
    from kinfolk.read_minute_records(p_records) n
    group by n.queue_id, n.command_id
    order by n.queue_id, n.command_id
    on conflict (minute, queue_id, command_id) do update set
        started = m.started + excluded.started,
        waited_us = m.waited_us + excluded.waited_us,
        waited_max_us = greatest(m.waited_max_us, excluded.waited_max_us),
        completed = m.completed + excluded.completed,
        failed = m.failed + excluded.failed,
        retried = m.retried + excluded.retried,
        cancelled = m.cancelled + excluded.cancelled,
        suspended = m.suspended + excluded.suspended,
        ran_us = m.ran_us + excluded.ran_us,
        ran_max_us = greatest(m.ran_max_us, excluded.ran_max_us);
end
$$;
