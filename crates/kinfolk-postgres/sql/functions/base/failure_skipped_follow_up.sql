-- The failure of a follow-up that was skipped, since a family that it waited for did not complete. Every store uses these words.

create or replace function kinfolk.failure_skipped_follow_up(root bigint) returns jsonb
language sql immutable parallel safe
as $$
    select jsonb_build_object('kind', 'skipped', 'message', format('the family of task %s did not complete', root))
$$;
