-- Applies the duplicates of a task, which the caller has locked, to its payload, and takes them off the list.

create or replace function kinfolk.apply_duplicates(p_task bigint) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_newer record;
begin
    -- It applies exactly the duplicates that it takes off the list: more may be committed while this runs.
    with gone as (
        delete from kinfolk.duplicate d
        where d.task_id = p_task
        returning d.arrival, d.on_duplicate, d.payload
    )
    select array_agg(g.on_duplicate order by g.arrival) as rules, array_agg(g.payload order by g.arrival) as payloads
    into v_newer
    from gone g;
    if v_newer.payloads is not null then
        update kinfolk.task t
        set payload = kinfolk.payload_with_newer(kinfolk.payload_of(p_task), v_newer.rules, v_newer.payloads)
        where t.id = p_task;
    end if;
end
$$;
