-- Looks for trouble around the store: one row for each thing looked at. `p_caller_now`: the caller's own clock. Locks
-- nothing.

create or replace function kinfolk.doctor(p_caller_now timestamptz)
returns table (subject text, health text, found text, remedy text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
begin
    if not coalesce(isfinite(p_caller_now), false) then
        raise exception using errcode = 'KF001', message = format('p_caller_now is %s', coalesce(p_caller_now::text, 'null')),
            hint = 'give the time by your own clock';
    end if;
    return query
    select 'schema', 'good', format('version %s, PostgreSQL %s', kinfolk.schema_version(), current_setting('server_version')), '';

    return query
    select * from kinfolk.doctor_server(p_caller_now);

    return query
    select * from kinfolk.doctor_horizon();

    return query
    select 'workers', case when w.late > 0 then 'warning' else 'good' end,
        format('%s with a live lease, %s past it', w.live, w.late),
        case when w.late > 0 then 'a live worker takes care of their tasks by itself; start one if there is none' else '' end
    from (
        select count(*) filter (where w.lease_until >= kinfolk.clock()) as live,
            count(*) filter (where w.lease_until < kinfolk.clock()) as late
        from kinfolk.worker w
    ) w;

    return query
    select * from kinfolk.doctor_handlers();

    return query
    select * from kinfolk.doctor_suspects();

    return query
    select * from kinfolk.doctor_schedules();

    return query
    select * from kinfolk.doctor_modules();
end
$$;
