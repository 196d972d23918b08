-- How many tasks match a filter, wherever its page begins, counted up to `look_max`. `more`: there may be more. A filter of nothing but
-- states that an index has is counted there, without a look at a task. Reads what `in_states` and `matching` read.

create or replace function kinfolk.count_matching(p_filter jsonb, out tasks bigint, out more boolean)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_is_right constant boolean := kinfolk.require_filter(p_filter);
    v_look constant integer := kinfolk.look_max();
    v_filter jsonb;
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
    select cardinality(m.ids), m.more into tasks, more from kinfolk.matching(v_filter) m;
end
$$;
