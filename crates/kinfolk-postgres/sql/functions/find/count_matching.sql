-- How many tasks match a filter, wherever its page begins, counted up to `look_max`. `more`: there may be more. Where no set of
-- candidates is small enough, twice as many tasks are looked at. A filter of nothing but states that an index has is counted there,
-- without a look at a task. Reads what `candidates`, `in_states` and `sift` read.

create or replace function kinfolk.count_matching(p_filter jsonb, out tasks bigint, out more boolean)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_is_right constant boolean := kinfolk.require_filter(p_filter);
    v_look constant integer := kinfolk.look_max();
    v_filter jsonb;
    v_set bigint[];
begin
    v_filter := p_filter - array['before', 'after'];
    if v_filter - array['state', 'finished_after', 'finished_before', 'order', 'limit'] = '{}'
        and jsonb_array_length(v_filter -> 'state') > 0
        and not v_filter -> 'state' ? 'completed'
        and (v_filter -> 'state' <@ '["failed", "cancelled"]' or not v_filter ?| array['finished_after', 'finished_before'])
    then
        tasks := cardinality(kinfolk.in_states(v_filter, v_look + 1));
        more := tasks > v_look;
        tasks := least(tasks, v_look);
        return;
    end if;
    v_set := kinfolk.candidates(v_filter);
    if v_set is null and (p_filter ->> 'has_children')::boolean then
        v_set := kinfolk.parents_in(v_filter, 2 * v_look);
        more := cardinality(v_set) = 2 * v_look;
    end if;
    tasks := cardinality(kinfolk.sift(v_filter, v_set, v_look + 1, 2 * v_look));
    if tasks <= v_look and v_set is null then
        more := kinfolk.look_end(v_filter, 2 * v_look) is not null;
    end if;
    more := tasks > v_look or coalesce(more, false);
    tasks := least(tasks, v_look);
end
$$;
