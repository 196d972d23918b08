-- Opens the tasks behind the gate `family` in admitted families, on every queue. Skips rows that another call has locked: only
-- a cancel locks them. Reads `task_limited`.
create or replace function kinfolk.open_limited(p_roots bigint[], p_now timestamptz) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queues integer[];
begin
    with held as materialized (
        select t.id
        from unnest(p_roots) as r(id)
        cross join lateral (
            select t.id
            from kinfolk.task t
            where t.root_id = r.id
                and t.gate = 'family'
            for update skip locked
        ) t
    ),
    opened as (
        update kinfolk.task t
        set gate = case when t.due > p_now then 'time'::kinfolk.gate else 'open'::kinfolk.gate end
        from held h
        where t.id = h.id
        returning t.queue_id
    )
    select array_agg(distinct o.queue_id) into v_queues from opened o;
    if v_queues is not null then
        perform kinfolk.notify_queues(v_queues, false);
    end if;
end
$$;
