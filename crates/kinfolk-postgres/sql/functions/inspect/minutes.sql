-- The work of workers in the minutes that began after a moment, by minute, queue and command, the oldest first. Locks nothing;
-- reads the primary key.

create or replace function kinfolk.minutes(p_since timestamptz)
returns table (
    minute timestamptz, queue text, command text, started bigint, waited_us bigint, waited_max_us bigint, completed bigint,
    failed bigint, retried bigint, cancelled bigint, suspended bigint, ran_us bigint, ran_max_us bigint
)
language sql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    select m.minute, q.name, c.name, m.started, m.waited_us, m.waited_max_us, m.completed, m.failed, m.retried, m.cancelled,
        m.suspended, m.ran_us, m.ran_max_us
    from kinfolk.minute m
    join kinfolk.queue q on q.id = m.queue_id
    join kinfolk.command c on c.id = m.command_id
    where m.minute > p_since
    order by m.minute, q.name, c.name
$$;
