-- Whether a fan-out, as a failed task keeps it, went wrong because a sub-task failed: not because it took too long, nor because
-- someone cancelled a sub-task.
create or replace function kinfolk.failed_by_child(p_fan_out jsonb) returns boolean
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select p_fan_out ->> 'verdict' = 'failed'
        and jsonb_path_exists(p_fan_out, '$.failures[*].failure.kind ? (@ != "cancelled" && @ != "skipped")')
$$;
