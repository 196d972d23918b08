-- Makes siblings of a task: children of its parent, appended to the fan-out, which is locked here.
create or replace function kinfolk.make_siblings(
    p_parent bigint, p_fan_out bigint, p_place timestamptz, p_now timestamptz, p_from integer, p_to integer,
    p_ids bigint[], p_commands integer[], p_queues integer[], p_payloads jsonb[], p_priorities integer[],
    p_dues timestamptz[], p_delays_us bigint[], p_keys text[], p_scopes text[], p_windows_us bigint[], p_on_duplicates text[],
    p_max_attempts integer[], p_timeouts_us bigint[], p_traces text[]
) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_fan_out record;
    v_priority integer := (select t.priority from kinfolk.task t where t.id = p_parent);
    v_made integer;
begin
    select f.root_id, f.depth, f.total, f.child_order <> 'together' as is_in_order
    into v_fan_out
    from kinfolk.fan_out f
    where f.id = p_fan_out
    for update;
    v_made := kinfolk.make_children(p_parent, v_fan_out.root_id, v_fan_out.depth + 1, p_fan_out, v_fan_out.total,
        case when v_fan_out.is_in_order then v_fan_out.total end, v_priority, p_place, p_now, p_from, p_to, p_ids, p_commands,
        p_queues, p_payloads, p_priorities, p_dues, p_delays_us, p_keys, p_scopes, p_windows_us, p_on_duplicates, p_max_attempts, p_timeouts_us,
        p_traces);
    update kinfolk.fan_out f
    set
        total = f.total + v_made,
        held = f.held + case when v_fan_out.is_in_order then v_made else 0 end
    where f.id = p_fan_out;
end
$$;
