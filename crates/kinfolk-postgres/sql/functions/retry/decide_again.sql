-- Decides those fan-outs, which these tasks await again, of which nothing is open: retention has removed what could run again. Their
-- tasks go on at once. Answers how many do. The caller has locked the family as a whole and counted the fan-outs anew. Locks what
-- `ended` locks. Reads `fan_out_task`.
create or replace function kinfolk.decide_again(p_tasks bigint[], p_now timestamptz) returns bigint
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_over bigint[] := array(
        select f.id
        from kinfolk.fan_out f
        where f.task_id = any (p_tasks)
            and f.wake_at is not null
            and f.completed + f.failed + f.cancelled = f.total
        order by f.id);
begin
    if v_over = '{}' then
        return 0;
    end if;
    perform kinfolk.ended(v_over, array_fill(null::integer, array[cardinality(v_over)]), '{}', '{}', p_now);
    return (select count(*) from kinfolk.task t where t.id = any (p_tasks) and t.state::text = 'pending');
end
$$;
