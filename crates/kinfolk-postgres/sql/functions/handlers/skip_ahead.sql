-- Lets the task of a queue that is due next run now, for a test that does not want to wait: `process_tasks` calls it when nothing
-- else is left. Answers whether there was one. `p_worker`: the worker of that test. Locks that task, if it is free; reads `task_due`.

create or replace function kinfolk.skip_ahead(p_worker uuid, p_queue text) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_task bigint;
begin
    if not exists (select from kinfolk.worker w where w.id = p_worker and w.name = 'process_tasks') then
        perform kinfolk.refuse('KF003', 'only a test in one transaction skips ahead', 'call kinfolk.process_tasks(skip_ahead => true)');
    end if;
    select t.id into v_task
    from kinfolk.task t
    where t.queue_id = (select q.id from kinfolk.queue q where q.name = p_queue)
        and t.gate = 'time'
    order by t.due, t.id
    limit 1
    for update skip locked;
    if not found then
        return false;
    end if;
    perform from kinfolk.run_now(v_task);
    return true;
end
$$;
