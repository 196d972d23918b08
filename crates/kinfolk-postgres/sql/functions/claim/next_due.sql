-- When the next task of a queue becomes due. Reads `task_due`. In plpgsql, which keeps its plan.

create or replace function kinfolk.next_due(p_queue integer) returns timestamptz
language plpgsql stable
as $$
begin
    return (
        select t.due
        from kinfolk.task t
        where t.queue_id = p_queue
            and t.gate = 'time'
        order by t.due
        limit 1
    );
end
$$;
