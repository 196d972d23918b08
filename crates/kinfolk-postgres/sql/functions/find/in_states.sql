-- The tasks in the states of a filter, on its queue and of its command, if those are given; at most so many, and null when a state is among
-- them whose tasks no index gives. Tasks of another queue or command may be among them. Reads `task_ready`, `task_suspect`, `task_later`,
-- `task_held`, `task_running`, `task_waiting` and `task_not_completed`, no further than the limit.

create or replace function kinfolk.in_states(p_filter jsonb, p_page integer) returns bigint[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
set jit = off
as $$
declare
    v_ids bigint[] := '{}';
    v_queues integer[] := array(
        select q.id from kinfolk.queue q where not p_filter ? 'queue' or q.name = p_filter ->> 'queue');
    v_command integer := (select c.id from kinfolk.command c where c.name = p_filter ->> 'command');
    v_state text;
begin
    -- A state that is named twice counts once.
    for v_state in select distinct s.state from jsonb_array_elements_text(p_filter -> 'state') as s(state) loop
        case v_state
            when 'pending' then
                v_ids := v_ids || kinfolk.pending_of(v_queues, v_command, p_page);
            when 'running' then
                v_ids := v_ids || array(select t.id from kinfolk.task t where t.state = 'running' limit p_page);
            when 'waiting' then
                v_ids := v_ids || array(
                    select t.id
                    from kinfolk.task t
                    where t.state = 'waiting' and (v_command is null or t.command_id = v_command)
                    limit p_page);
            when 'completed' then
                -- Most tasks do.
                return null;
            else
                v_ids := v_ids || array(
                    select t.id
                    from kinfolk.task t
                    where t.state = v_state::kinfolk.state
                        and t.state in ('failed', 'cancelled')
                        and (not p_filter ? 'finished_after' or t.finished_at >= (p_filter ->> 'finished_after')::timestamptz)
                        and (not p_filter ? 'finished_before' or t.finished_at < (p_filter ->> 'finished_before')::timestamptz)
                    limit p_page);
        end case;
        exit when cardinality(v_ids) >= p_page;
    end loop;
    return v_ids[:p_page];
end
$$;
