-- How many fan-outs have open children that their tasks wait for, and in how many families; of `look_max` tasks that wait. Locks
-- nothing; reads `task_waiting` and `fan_out_task`.

create or replace function kinfolk.active_fan_outs()
returns table (fan_outs bigint, families bigint)
language sql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    select count(*), count(distinct f.root_id)
    from (select t.id from kinfolk.task t where t.state = 'waiting' limit kinfolk.look_max()) t
    join kinfolk.fan_out f on f.task_id = t.id
    where f.completed + f.failed + f.cancelled < f.total
$$;
