-- The failures that the engine itself records. The words are those of every store.

create or replace function kinfolk.failure_cancelled() returns jsonb
language sql immutable parallel safe
as $$ select '{"kind": "cancelled", "message": "cancelled on request"}'::jsonb $$;

create or replace function kinfolk.failure_lost(worker uuid) returns jsonb
language sql immutable parallel safe
as $$ select jsonb_build_object('kind', 'lost', 'message', format('the lease of worker %s was lost', worker)) $$;

create or replace function kinfolk.failure_poison(strikes integer) returns jsonb
language sql immutable parallel safe
as $$ select jsonb_build_object('kind', 'poison', 'message', format('took down the worker that ran it %s times', strikes)) $$;

create or replace function kinfolk.failure_folded(into_task bigint) returns jsonb
language sql immutable parallel safe
as $$
    select jsonb_build_object('kind', 'cancelled',
        'message', format('folded into task %s, which holds the same unique key', into_task))
$$;

create or replace function kinfolk.failure_children(failed bigint, total bigint) returns jsonb
language sql immutable parallel safe
as $$ select jsonb_build_object('kind', 'children', 'message', format('%s of %s children failed', failed, total)) $$;

create or replace function kinfolk.failure_skipped_child() returns jsonb
language sql immutable parallel safe
as $$ select '{"kind": "skipped", "message": "an earlier child failed"}'::jsonb $$;

create or replace function kinfolk.failure_skipped_follow_up(root bigint) returns jsonb
language sql immutable parallel safe
as $$
    select jsonb_build_object('kind', 'skipped', 'message', format('the family of task %s did not complete', root))
$$;

-- Why a task was not made, in the words of every store.
create or replace function kinfolk.failure_refused(why text, name text) returns jsonb
language sql immutable parallel safe
as $$
    select jsonb_build_object('kind', 'refused', 'message', format(
        case why
            when 'unknown_command' then 'unknown command %s; register it, or start a worker that handles it'
            when 'unknown_queue' then 'unknown queue %s; register a command on it, or make it with `kinfolk queue set`'
            when 'unknown_group' then 'a key for group %s, which its command does not declare; leave it out, or declare the group'
            when 'no_children' then 'queue %s takes no children; spawn onto another queue, or raise its child_limit'
            when 'too_deep' then 'a family on queue %s may not grow this deep; spawn less deeply, or raise its depth_limit'
            when 'no_parent' then 'task %s has no parent that takes siblings: it is a root, or its parent awaits its result; spawn a child, or enqueue a task'
        end, name))
$$;
