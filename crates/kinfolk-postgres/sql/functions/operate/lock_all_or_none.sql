-- Locks all of these tasks that are there, or none: then it waits until another call has let go of one of them, and answers false.
-- While it waits it holds none of them, because that call may need another one. So a caller that waits for nothing afterwards is part
-- of no circle, whatever the order in which others lock their tasks.
create or replace function kinfolk.lock_all_or_none(p_tasks bigint[]) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    v_locked bigint[];
    v_other bigint;
begin
    begin
        v_locked := array(
            select t.id
            from kinfolk.task t
            where t.id = any (p_tasks)
            order by t.id
            for no key update skip locked);
        v_other := (
            select min(t.id)
            from kinfolk.task t
            where t.id = any (array(select unnest(p_tasks) except select unnest(v_locked))));
        if v_other is null then
            return true;
        end if;
        raise lock_not_available;
    exception
        -- All of them are let go of here.
        when lock_not_available then
            null;
    end;
    begin
        perform from kinfolk.task t where t.id = v_other for no key update;
        raise lock_not_available;
    exception
        when lock_not_available then
            null;
    end;
    return false;
end
$$;
