-- The failure of a task whose children failed. Every store uses these words.

create or replace function kinfolk.failure_children(failed bigint, total bigint) returns jsonb
language sql immutable parallel safe
as $$ select jsonb_build_object('kind', 'children', 'message', format('%s of %s children failed', failed, total)) $$;
