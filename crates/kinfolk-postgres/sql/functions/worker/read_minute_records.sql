-- The records of a call, with queues and commands by their numbers, null for those that are not there; what is not said is zero.
-- Locks nothing.

create or replace function kinfolk.read_minute_records(p_records jsonb)
returns table (
    queue text, command text, queue_id integer, command_id integer, started bigint, waited_us bigint, waited_max_us bigint,
    completed bigint, failed bigint, retried bigint, cancelled bigint, suspended bigint, ran_us bigint, ran_max_us bigint
)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select n.queue, n.command, q.id, c.id, coalesce(n.started, 0), coalesce(n.waited_us, 0), coalesce(n.waited_max_us, 0),
        coalesce(n.completed, 0), coalesce(n.failed, 0), coalesce(n.retried, 0), coalesce(n.cancelled, 0),
        coalesce(n.suspended, 0), coalesce(n.ran_us, 0), coalesce(n.ran_max_us, 0)
    from jsonb_to_recordset(p_records) as n(queue text, command text, started bigint, waited_us bigint, waited_max_us bigint,
        completed bigint, failed bigint, retried bigint, cancelled bigint, suspended bigint, ran_us bigint, ran_max_us bigint)
    left join kinfolk.queue q on q.name = n.queue
    left join kinfolk.command c on c.name = n.command
$$;
