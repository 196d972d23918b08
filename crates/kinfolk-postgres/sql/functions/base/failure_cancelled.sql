-- The failure of a task that was cancelled. The words are those of every store.

create or replace function kinfolk.failure_cancelled() returns jsonb
language sql immutable parallel safe
as $$ select '{"kind": "cancelled", "message": "cancelled on request"}'::jsonb $$;
