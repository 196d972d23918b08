-- Whether some task has a number in the range of these. Refuses numbers that were never given out. By the primary key, whatever
-- the planner knew when it was asked first.
create or replace function kinfolk.in_use(p_ids bigint[]) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_first bigint;
    v_last bigint;
begin
    select min(i), max(i) into v_first, v_last from unnest(p_ids) i;
    if v_first < 1 or v_last > (select s.last_value from kinfolk.task_id s) then
        raise exception using errcode = 'KF001', message = 'a task number that was never given out',
            hint = 'take numbers from kinfolk.take_ids';
    end if;
    return exists (select from kinfolk.task t where t.id between v_first and v_last);
end
$$;
