-- Whether the reservation of a task counts now. It counts while only slots held by others keep the task from starting: its
-- queue is not paused, a live worker handles its command there, and none of its keys has a limit of 0, is slowed down or is
-- out of starts. Otherwise its keys would be shut for every task. Answers null for a null task.
--
-- Reads the row of the task, and by their keys declarations, settings and spent rates.
create or replace function kinfolk.keeps_room(p_task bigint, p_now timestamptz) returns boolean
language sql stable strict
set search_path = pg_catalog, pg_temp
as $$
    select exists (
        select
        from kinfolk.task t
        join kinfolk.queue q on q.id = t.queue_id
        join kinfolk.command c on c.id = t.command_id
        where t.id = p_task
            and t.state = 'pending'
            and q.paused_at is null
            and exists (
                select
                from kinfolk.worker w
                where w.lease_until >= p_now
                    and q.name = any (w.queues)
                    and c.name = any (w.commands))
            and not exists (
                select
                from kinfolk.command_group cg
                join kinfolk.slot_group g on g.id = cg.group_id
                left join kinfolk.slot_setting s on s.group_id = g.id and s.key = coalesce(t.keys ->> cg.name, '')
                left join kinfolk.spent p on p.group_id = g.id and p.key = coalesce(t.keys ->> cg.name, '')
                where cg.command_id = t.command_id
                    and (cg.name = 'total' or t.keys ? cg.name)
                    and (coalesce(s.slots, g.set_slots, g.slots) = 0
                        or p.paused_until > p_now
                        or case
                            when s.rate_count is not null then kinfolk.rate_starts(
                                kinfolk.rate_interval(s.rate_count, s.rate_per_us), s.rate_burst, p.spent_until, p_now)
                            when g.set_rate_count is not null then kinfolk.rate_starts(
                                kinfolk.rate_interval(g.set_rate_count, g.set_rate_per_us), g.set_rate_burst,
                                p.spent_until, p_now)
                            else kinfolk.rate_starts(
                                kinfolk.rate_interval(g.rate_count, g.rate_per_us), g.rate_burst, p.spent_until, p_now)
                        end <= 0)))
$$;
