-- The failure of a task that lost too many workers. Every store uses these words.

create or replace function kinfolk.failure_poison(strikes integer) returns jsonb
language sql immutable parallel safe
as $$ select jsonb_build_object('kind', 'poison', 'message', format('took down the worker that ran it %s times', strikes)) $$;
