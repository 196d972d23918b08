-- The mistake in records that a worker sends, as an error of ours: code, message and hint. Nothing, if they can be added. Locks
-- nothing.

create or replace function kinfolk.wrong_minute_record(p_records jsonb)
returns table (code text, message text, hint text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    if jsonb_typeof(p_records) <> 'array' or jsonb_array_length(p_records) > kinfolk.minute_records_max() then
        return query select 'KF001', 'p_records is no array, or has too many records',
            format('send an array of at most %s objects', kinfolk.minute_records_max());
        return;
    end if;
    return query
    select case when n.queue_id is null or n.command_id is null then 'KF002' else 'KF001' end,
        case
            when n.queue_id is null then format('there is no queue %s', n.queue)
            when n.command_id is null then format('there is no command %s', n.command)
            else format('a figure of command %s is out of range', n.command)
        end,
        'record what was done since the last record, and nothing else'
    from (
        select r.queue, r.command, r.queue_id, r.command_id,
            least(r.started, r.waited_us, r.waited_max_us, r.completed, r.failed, r.retried, r.cancelled, r.suspended,
                r.ran_us, r.ran_max_us) as least,
            -- Some thousand years: so the sums of a minute stay in range.
            sum(greatest(r.started, r.waited_us, r.waited_max_us, r.completed, r.failed, r.retried, r.cancelled,
                r.suspended, r.ran_us, r.ran_max_us)) over () > 900000000000000000 as are_too_large
        from kinfolk.read_minute_records(p_records) r
    ) n
    where num_nulls(n.queue_id, n.command_id) > 0
        or n.least < 0
        or n.are_too_large
    limit 1;
exception
    when data_exception then
        return query select 'KF001', format('p_records can''t be read: %s', sqlerrm), 'send an array of objects with whole numbers';
end
$$;
