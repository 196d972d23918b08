-- The tasks that match a filter, in its order: among these, which stand in the order of their numbers, or, with null, among at
-- most `p_look` in the range of its page. At most `p_most`. Reads the tasks by number, and no further than it must.

create or replace function kinfolk.sift(p_filter jsonb, p_ids bigint[], p_most integer, p_look integer) returns bigint[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
set enable_bitmapscan = off
set max_parallel_workers_per_gather = 0
set jit = off
as $$
declare
    f record;
    r record;
    v_newest boolean := coalesce(p_filter ->> 'order', 'newest') = 'newest';
begin
    select x.*, q.id as queue_id, c.id as command_id, x.payload -> 'value' as at_value,
        array(select jsonb_array_elements_text(x.payload -> 'path')) as at_path, nullif(x.state, '{}')::kinfolk.state[] as states
    into f
    from jsonb_to_record(p_filter) as x(state text[], queue text, command text, parent bigint, root bigint, has_children boolean,
        fan_out bigint, follows bigint, roots boolean, "unique" text, key jsonb, created_after timestamptz, created_before timestamptz,
        finished_after timestamptz, finished_before timestamptz, failure_kind text, failure_text text, payload jsonb)
    left join kinfolk.queue q on q.name = x.queue
    left join kinfolk.command c on c.name = x.command;
    select * into r from kinfolk.filter_range(p_filter);
    if (f.queue is not null and f.queue_id is null) or (f.command is not null and f.command_id is null) then
        return '{}';
    end if;
    return array(
        select t.id
        from kinfolk.looked_at(p_ids, v_newest, r.lowest, r.highest, p_look) t
        where (f.states is null or t.state = any (f.states))
            and (f.queue_id is null or t.queue_id = f.queue_id)
            and (f.command_id is null or t.command_id = f.command_id)
            and (f.parent is null or t.parent_id = f.parent)
            and (f.root is null or coalesce(t.root_id, t.id) = f.root)
            and (f.has_children is null
                or f.has_children = exists (select from kinfolk.fan_out o where o.task_id = t.id))
            and (f.fan_out is null or t.fan_out_id = f.fan_out)
            and (f.follows is null or t.follows_id = f.follows)
            and (f.roots is not true or t.parent_id is null)
            and (f.unique is null or t.unique_key = f.unique)
            and (f.key is null or t.keys @> f.key)
            and (f.created_after is null or t.created_at >= f.created_after)
            and (f.created_before is null or t.created_at < f.created_before)
            and (f.finished_after is null or t.finished_at >= f.finished_after)
            and (f.finished_before is null or t.finished_at < f.finished_before)
            and (f.failure_kind is null or t.failure ->> 'kind' = f.failure_kind)
            and (f.failure_text is null or strpos(t.failure ->> 'message', f.failure_text) > 0)
            and (f.payload is null or case
                    when t.payload is not null and t.unique_key is null then (t.payload #> f.at_path)::text = f.at_value::text
                    else kinfolk.has_at(t, f.at_path, f.at_value)
                end)
        limit p_most);
end
$$;
