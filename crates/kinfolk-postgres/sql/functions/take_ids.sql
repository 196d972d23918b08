-- Task numbers, taken before the tasks are made: an enqueue that is sent again with the same numbers makes nothing twice.

create or replace function kinfolk.take_ids(many integer) returns bigint[]
language sql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
    select array(select nextval('kinfolk.task_id') from generate_series(1, least(many, kinfolk.enqueue_batch_max())))
$$;
