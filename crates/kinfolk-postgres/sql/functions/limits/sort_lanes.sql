-- Sorts the tasks of a queue that gets limits: roots that have started go to the lane `root`, running children get a child
-- slot. Locks these tasks by number, all or none, and waits for none of them: it releases all and tries again. Errors:
-- KF007 when other calls keep tasks locked again and again. Reads all tasks of the queue that have not ended.
create or replace function kinfolk.sort_lanes(p_queue integer, p_families boolean, p_children boolean) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_tasks bigint[] := array(
        select t.id
        from kinfolk.task t
        where t.queue_id = p_queue
            and t.finished_at is null
            and case
                when t.parent_id is null then p_families and (t.runs > 0 or t.state = 'waiting')
                else p_children and t.state = 'running'
            end
        order by t.id);
begin
    if v_tasks = '{}' then
        return;
    end if;
    for v_try in 1..20 loop
        begin
            perform from kinfolk.task t where t.id = any (v_tasks) order by t.id for update nowait;
            update kinfolk.task t
            set
                lane = case when t.parent_id is null then 'root'::kinfolk.lane else t.lane end,
                child_slot = t.parent_id is not null and t.state = 'running'
            where t.id = any (v_tasks)
                and t.finished_at is null;
            return;
        exception
            -- This call lets go of all of them: the holder of one may need another.
            when lock_not_available then
                perform pg_sleep(0.01 * v_try);
        end;
    end loop;
    raise exception using errcode = 'KF007',
        message = format('tasks of queue %s are in other hands time and again', p_queue),
        hint = 'try again in a moment';
end
$$;
