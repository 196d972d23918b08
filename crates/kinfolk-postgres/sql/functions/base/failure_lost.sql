-- The failure of an attempt whose worker was lost. Every store uses these words.

create or replace function kinfolk.failure_lost(worker uuid) returns jsonb
language sql immutable parallel safe
as $$ select jsonb_build_object('kind', 'lost', 'message', format('the lease of worker %s was lost', worker)) $$;
