-- The failures that the engine itself records. The words are those of every store.

create or replace function kinfolk.failure_cancelled() returns jsonb
language sql immutable parallel safe
as $$ select '{"kind": "cancelled", "message": "cancelled on request"}'::jsonb $$;

create or replace function kinfolk.failure_lost(worker uuid) returns jsonb
language sql immutable parallel safe
as $$ select jsonb_build_object('kind', 'lost', 'message', format('the lease of worker %s was lost', worker)) $$;

create or replace function kinfolk.failure_poison() returns jsonb
language sql stable parallel safe
as $$
    select jsonb_build_object('kind', 'poison',
        'message', format('took down the worker that ran it %s times', kinfolk.strikes_max()))
$$;

create or replace function kinfolk.failure_folded(into_task bigint) returns jsonb
language sql immutable parallel safe
as $$
    select jsonb_build_object('kind', 'cancelled',
        'message', format('folded into task %s, which holds the same unique key', into_task))
$$;
