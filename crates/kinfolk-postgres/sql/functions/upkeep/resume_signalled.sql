-- Resumes the tasks, among these suspended ones, that wait for a signal that is kept. The caller has locked their
-- families as a whole. Locks the tasks.
create or replace function kinfolk.resume_signalled(p_tasks bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now timestamptz := kinfolk.clock();
    v_queues integer[];
begin
    with resumed as (
        update kinfolk.task t
        set
            state = 'pending',
            gate = 'open',
            due = case when t.gate = 'time' then v_now else t.due end,
            signals = null
        from unnest(p_tasks) as g(id)
        where t.id = g.id
            and exists (
                select
                from (select s.name from kinfolk.signal s where s.task_id = t.id offset 0) s
                where s.name = any (t.signals))
        returning t.queue_id
    )
    select array_agg(distinct r.queue_id) into v_queues from resumed r;
    perform kinfolk.notify_queues(v_queues, false);
end
$$;
