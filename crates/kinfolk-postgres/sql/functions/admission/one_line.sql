-- Locks and returns the next candidates of a claim that has one line of open tasks: nothing to merge. Locks tasks, never waiting. Reads
-- `task_ready`. Runs under the settings of the claim.
create or replace function kinfolk.one_line(
    p_queue integer, p_lane kinfolk.lane, p_command integer, p_behind kinfolk.stand, p_size integer
) returns kinfolk.claim_page
language plpgsql volatile
as $$
declare
    v_page kinfolk.claim_page;
begin
    with line as materialized (
        select t.id, t.command_id, t.keys, t.unique_held and t.runs = 0 as starts_unique
        from kinfolk.open_task t
        where t.queue_id = p_queue
            and t.lane = p_lane
            and t.command_id = p_command
            and (t.priority, t.position, t.id) > (p_behind.priority, p_behind.position, p_behind.id)
        order by t.priority, t.position, t.id
        limit p_size
        for update skip locked
    )
    select array_agg(l.id), array_agg(l.command_id), array_agg(l.keys), bool_or(l.starts_unique), false, false, count(*) < p_size
    into v_page.ids, v_page.commands, v_page.keys, v_page.starts_unique, v_page.suspects, v_page.left_out, v_page.is_last
    from line l;
    return v_page;
end
$$;
