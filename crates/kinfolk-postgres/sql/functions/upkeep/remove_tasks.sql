-- Removes tasks with all that hangs on them. Answers how many went.
create or replace function kinfolk.remove_tasks(p_ids bigint[]) returns bigint
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_gone bigint;
begin
    perform kinfolk.drop_intents(p_ids);
    delete from kinfolk.attempt a where a.task_id = any (p_ids);
    delete from kinfolk.body b where b.task_id = any (p_ids);
    delete from kinfolk.checkpoint c where c.task_id = any (p_ids);
    delete from kinfolk.signal s where s.task_id = any (p_ids);
    delete from kinfolk.skipped_follow_up s where s.task_id = any (p_ids);
    delete from kinfolk.task t where t.id = any (p_ids);
    get diagnostics v_gone = row_count;
    return v_gone;
end
$$;
