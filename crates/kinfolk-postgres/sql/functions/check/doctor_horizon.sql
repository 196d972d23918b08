-- The findings of `doctor` about dead rows: which session keeps them from being removed, and how many there are. Locks
-- nothing.

create or replace function kinfolk.doctor_horizon()
returns table (subject text, health text, found text, remedy text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return query
    -- Each task that is worked meanwhile leaves dead rows in the way of the calls after it: a minute is long on a busy queue.
    with judged as (
        select o.*,
            case
                when o.lasting > interval '1 hour' or o.behind > 10000000 then 'bad'
                when o.lasting > interval '1 minute' or o.behind > 20000 then 'warning'
                else 'good'
            end as health
        from (select 1) one
        left join (select h.* from kinfolk.horizon_holders() h limit 1) o on true
    )
    select 'horizon', j.health,
        case when j.who is null then 'held by nobody' else format('held by %s, %s transactions back', j.who, j.behind) end,
        case
            when j.health = 'good' then ''
            else format('end it (%s): while it lasts, dead rows can''t be removed, and claims slow down', j.remedy)
        end
    from judged j;

    return query
    select 'dead rows', case when d.dead > 1000000 and d.dead > d.live then 'warning' else 'good' end,
        format('%s dead beside %s live rows in kinfolk.task', d.dead, d.live),
        case when d.dead > 1000000 and d.dead > d.live then 'let autovacuum run more often on kinfolk.task, and see to the horizon' else '' end
    from (
        select coalesce(sum(s.n_dead_tup), 0) as dead, coalesce(sum(s.n_live_tup), 0) as live
        from pg_stat_user_tables s
        where s.schemaname = 'kinfolk'
            and s.relname = 'task'
    ) d;
end
$$;
