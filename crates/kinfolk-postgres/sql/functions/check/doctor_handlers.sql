-- What `doctor` finds about tasks that no live worker handles: those a claim would take, those it would open first, and those
-- behind a full key. Locks nothing. Reads `task_ready`, `task_suspect`, `task_due` up to now, and `task_held`.

create or replace function kinfolk.doctor_handlers()
returns table (subject text, health text, found text, remedy text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return query
    -- What would be claimed, what a claim would open first, and what is lined up behind a key.
    with kinds as (
        select o.command_id, o.queue_id
        from kinfolk.open_commands(null) o
        union
        select t.command_id, t.queue_id
        from kinfolk.queue q
        join kinfolk.task t on t.queue_id = q.id
        where t.gate = 'time'
            and t.due <= kinfolk.clock()
        union
        select t.command_id, t.queue_id
        from kinfolk.held_task t
        where t.gate <> 'after'
    ),
    waiting as (
        select c.name as command, q.name as queue
        from kinds k
        join kinfolk.command c on c.id = k.command_id
        join kinfolk.queue q on q.id = k.queue_id
        where not exists (
                select
                from kinfolk.worker w
                where w.lease_until >= kinfolk.clock()
                    and c.name = any (w.commands)
                    and q.name = any (w.queues))
    )
    select 'handlers', case when count(*) > 0 then 'warning' else 'good' end,
        case
            when count(*) > 0 then 'nobody handles ' || string_agg(format('%s on %s', w.command, w.queue), ', ' order by w.command, w.queue)
            else 'every waiting task has a worker that handles it'
        end,
        case when count(*) > 0 then 'start a worker that has handlers for these commands on these queues' else '' end
    from waiting w;
end
$$;
