-- The failure of a task that is a duplicate of another one under its unique key.

create or replace function kinfolk.failure_duplicate(into_task bigint) returns jsonb
language sql immutable parallel safe
as $$
    select jsonb_build_object('kind', 'cancelled',
        'message', format('a duplicate of task %s, which holds the same unique key', into_task))
$$;
