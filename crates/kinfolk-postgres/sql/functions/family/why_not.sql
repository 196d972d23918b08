-- Why this task can't make a task of this kind, null if it can. Every store checks in this order. A child that its parent
-- awaits has no siblings: its fan-out is complete.
create or replace function kinfolk.why_not(
    p_maker kinfolk.maker, p_kind text, p_command integer, p_has_queue boolean, p_unknown_group text, p_child_limit integer
) returns text
language sql immutable
as $$
    select case
        when p_kind = 'sibling' and (p_maker.parent_id is null or p_maker.fan_out_id <> p_maker.parent_id) then 'no_parent'
        when p_command is null then 'unknown_command'
        when not p_has_queue then 'unknown_queue'
        when p_unknown_group is not null then 'unknown_group'
        when p_kind not in ('sibling', 'child', 'awaited') then null
        when p_child_limit = 0 then 'no_children'
        when p_maker.depth + (p_kind <> 'sibling')::integer > p_maker.depth_limit then 'too_deep'
    end
$$;
