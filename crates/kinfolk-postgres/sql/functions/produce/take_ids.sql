-- Task numbers, taken before the tasks are made: an enqueue that is sent again with the same numbers makes nothing twice.
-- In plpgsql, which keeps its plan: a function in plain SQL is planned at each call.

create or replace function kinfolk.take_ids(many integer) returns bigint[]
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
begin
    if coalesce(many not between 0 and kinfolk.enqueue_batch_max(), true) then
        raise exception using errcode = 'KF001', message = format('many is %s', coalesce(many::text, 'null')),
            hint = format('it must be 0 to %s', kinfolk.enqueue_batch_max());
    end if;
    return array(select nextval('kinfolk.task_id') from generate_series(1, many));
end
$$;
