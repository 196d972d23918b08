-- The part of `lock_claim` for commands that have groups: takes the admission locks of their groups, if one of their tasks
-- could start (`lock_admission`). If none could, or if another call has these locks, the claim goes on with its other commands
-- alone.

create or replace function kinfolk.lock_claim_groups(p_scope kinfolk.claim_scope) returns kinfolk.claim_scope
language plpgsql volatile
as $$
declare
    v_asked text[] := p_scope.commands;
begin
    if p_scope.fair is null and not kinfolk.has_work_with_keys(p_scope.queue_id, p_scope.commands) then
        p_scope.commands := kinfolk.without_groups(p_scope.commands);
        p_scope.wakes := true;
    else
        select l.commands, l.groups, l.busy, l.grouped, l.total, l.holds
        into p_scope.commands, p_scope.groups, p_scope.left_out, p_scope.grouped, p_scope.total, p_scope.holds
        from kinfolk.lock_admission(p_scope.queue_id, p_scope.commands) l;
        p_scope.wakes := p_scope.groups is not null;
    end if;
    if p_scope.low_id <> '{}' and p_scope.commands <> v_asked then
        select m.low_priority, m.low_position, m.low_id
        into p_scope.low_priority, p_scope.low_position, p_scope.low_id
        from kinfolk.cursors_for(p_scope.commands, v_asked, p_scope.low_priority, p_scope.low_position, p_scope.low_id) m;
    end if;
    return p_scope;
end
$$;
