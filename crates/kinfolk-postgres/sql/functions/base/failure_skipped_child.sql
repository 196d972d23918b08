-- The failure of an in-order child that was skipped, since one before it failed. Every store uses these words.

create or replace function kinfolk.failure_skipped_child() returns jsonb
language sql immutable parallel safe
as $$ select '{"kind": "skipped", "message": "an earlier child failed"}'::jsonb $$;
