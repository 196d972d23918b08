-- The failure of a task that was cancelled. Every store uses these words.

create or replace function kinfolk.failure_cancelled() returns jsonb
language sql immutable parallel safe
as $$ select '{"kind": "cancelled", "message": "cancelled on request"}'::jsonb $$;
