-- When the first of the keys behind which tasks of these commands wait on this queue allows a start again, or earlier: of each
-- group only the first keys are looked at, and where all of these hold up others, the claim may as well look again then. Reads
-- `spent_wakes` from its first entry on, and `task_blocked`.
create or replace function kinfolk.next_wake(p_queue integer, p_commands text[]) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_most constant integer := 100;
begin
    return (
        select min(n.wakes_at)
        from (
            select cg.group_id, array_agg(c.id) as commands
            from kinfolk.command c
            join kinfolk.command_group cg on cg.command_id = c.id
            where c.name = any (p_commands)
                and c.grouped
            group by cg.group_id
        ) g
        cross join lateral (
            select s.wakes_at
            from (
                select s.key, s.wakes_at, row_number() over () as nth
                from (
                    select s.key, s.wakes_at
                    from kinfolk.spent s
                    where s.group_id = g.group_id
                        and s.wakes_at is not null
                    order by s.group_id, s.wakes_at
                    limit v_most
                ) s
            ) s
            where s.nth = v_most
                or exists (
                    select
                    from unnest(g.commands) as c(id)
                    cross join lateral (
                        select
                        from kinfolk.task t
                        where t.blocked_group = g.group_id
                            and t.blocked_key = s.key
                            and t.queue_id = p_queue
                            and t.command_id = c.id
                            and t.gate = 'limit'
                        -- Said so that no other index on the gate is thought of.
                        order by t.blocked_group, t.blocked_key, t.queue_id, t.command_id
                        limit 1
                    ) t)
            limit 1
        ) n);
end
$$;
