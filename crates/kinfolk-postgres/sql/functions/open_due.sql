-- Opens the gate of what is due on a queue, one page of it. Reads `task_due`; passes over rows that someone else holds.

create or replace function kinfolk.open_due(p_queue integer, p_now timestamptz) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    with due as materialized (
        select t.id
        from kinfolk.task t
        where t.queue_id = p_queue
            and t.gate = 'time'
            and t.due <= p_now
        order by t.due, t.id
        limit kinfolk.sweep_page()
        for update skip locked
    )
    update kinfolk.task t
    set gate = 'open'
    from due
    where t.id = due.id;
end
$$;
