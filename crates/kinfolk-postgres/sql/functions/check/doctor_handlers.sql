-- The findings of `doctor` about tasks that no live worker handles: tasks that a claim would take, tasks that it would open
-- first, and tasks behind a full key. Locks nothing. Reads `task_ready`, `task_suspect`, `task_due` up to now, and
-- `task_held`.

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
    unhandled as (
        select format('%s on %s', c.name, q.name) as words
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
            when count(*) > 0 then 'no live worker handles ' || string_agg(w.words, ', ' order by w.words collate "C")
            else 'every task that may run has a live worker'
        end,
        case when count(*) > 0 then 'start a worker that handles these commands on these queues' else '' end
    from unhandled w;
end
$$;
