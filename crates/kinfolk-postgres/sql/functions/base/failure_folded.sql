-- The failure of a task that was folded into another one under its unique key. The words are those of every store.

create or replace function kinfolk.failure_folded(into_task bigint) returns jsonb
language sql immutable parallel safe
as $$
    select jsonb_build_object('kind', 'cancelled',
        'message', format('folded into task %s, which holds the same unique key', into_task))
$$;
