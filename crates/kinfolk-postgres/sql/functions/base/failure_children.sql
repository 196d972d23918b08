-- The failure of a task whose children failed. The words are those of every store.

create or replace function kinfolk.failure_children(failed bigint, total bigint) returns jsonb
language sql immutable parallel safe
as $$ select jsonb_build_object('kind', 'children', 'message', format('%s of %s children failed', failed, total)) $$;
