-- Locks those of these tasks that have not ended, by `lock_all_or_none`, and answers them by number.
create or replace function kinfolk.lock_unended(p_tasks bigint[]) returns bigint[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_open bigint[];
begin
    for v_try in 1..1000 loop
        v_open := array(
            select t.id
            from kinfolk.task t
            where t.id = any (p_tasks)
                and t.state < 'completed'
            order by t.id);
        if kinfolk.lock_all_or_none(v_open) then
            return v_open;
        end if;
    end loop;
    raise exception using errcode = 'KF007', message = 'the tasks of this page are in other hands time and again',
        hint = 'try again in a moment';
end
$$;
