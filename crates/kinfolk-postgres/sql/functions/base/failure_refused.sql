-- The failure of an attempt that made a task which can't be made: why, with the offending value. Every store uses these words.

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
