-- The findings of `doctor` about tasks that took down their workers, or were near when it happened: the tasks with strikes, the
-- first few by name. Locks nothing; reads `task_struck`.

create or replace function kinfolk.doctor_suspects()
returns table (subject text, health text, found text, remedy text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    with struck as materialized (
        select t.id, c.name as command, t.strikes, c.max_strikes, t.state, t.gate, t.due
        from kinfolk.task t
        join kinfolk.command c on c.id = t.command_id
        where t.strikes > 0
            and t.finished_at is null
        order by t.strikes desc, t.id
    )
    select 'suspects', case when count(*) > 0 then 'warning' else 'good' end,
        case
            when count(*) = 0 then 'no task has a strike'
            else format('%s with strikes: ', count(*)) || (
                select string_agg(format('task %s %s, %s of %s, %s', s.id, s.command, s.strikes, s.max_strikes,
                    case
                        when s.state = 'running' then 'running'
                        when s.gate = 'time' then 'next try at ' || to_char(s.due at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
                        else 'in line'
                    end), '; ')
                from (select * from struck limit 5) s)
        end,
        case
            when count(*) > 0 then (
                select format('their workers died: find out why; kinfolk acquit %s lets the first run at once, kinfolk cancel %s ends it',
                    s.id, s.id)
                from struck s
                limit 1)
            else ''
        end
    from struck
$$;
