-- Opens the tasks of a queue that take turns: its fair key changes, and its next claim sorts them in anew. Locks the tasks by number.
create or replace function kinfolk.sort_out(p_queue integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    update kinfolk.task t
    set gate = 'open'
    where t.id = any (array(
        select t.id
        from kinfolk.task t
        where t.queue_id = p_queue
            and t.gate = 'turn'
        order by t.id
        for update));
end
$$;
