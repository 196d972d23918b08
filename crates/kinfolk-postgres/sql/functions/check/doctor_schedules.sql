-- The findings of `doctor` about schedules that code once declared: the command has live workers, all of them started later,
-- and none declared the schedule again. Locks nothing; schedules and workers are few.

create or replace function kinfolk.doctor_schedules()
returns table (subject text, health text, found text, remedy text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    with undeclared as (
        select s.name
        from kinfolk.schedule s
        where s.declared_at < (
                select min(w.started_at)
                from kinfolk.worker w
                where w.lease_until >= kinfolk.clock()
                    and s.command = any (w.commands))
    )
    select 'schedules', case when count(*) > 0 then 'warning' else 'good' end,
        case
            when count(*) > 0 then 'no longer declared by the workers of their commands: ' || string_agg(u.name, ', ' order by u.name)
            else 'what code declared is still declared'
        end,
        case when count(*) > 0 then format('kinfolk schedule remove %s ends the first; or declare it again', min(u.name)) else '' end
    from undeclared u
$$;
