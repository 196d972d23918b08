-- A page of the tasks that match a filter, in its order, and where the next page goes on, if there may be one: it can, though
-- this one is short, since a page looks at `look_max` tasks at most. The parts of a filter are those of the library, as JSON.
-- Reads what `candidates` and `sift` read; tasks with children by `fan_out_task`.

create or replace function kinfolk.find_tasks(p_filter jsonb, out ids bigint[], out next bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_is_right constant boolean := kinfolk.require_filter(p_filter);
    v_limit integer := least(greatest(coalesce((p_filter ->> 'limit')::numeric, 50), 1), kinfolk.page_max())::integer;
    v_look constant integer := kinfolk.look_max();
    v_set bigint[];
    v_last bigint;
begin
    v_set := kinfolk.candidates(p_filter);
    if v_set is null and (p_filter ->> 'has_children')::boolean then
        v_set := kinfolk.parents_in(p_filter, v_look);
        v_last := case when coalesce(p_filter ->> 'order', 'newest') = 'newest' then v_set[1] else v_set[cardinality(v_set)] end;
        v_last := case when cardinality(v_set) = v_look then v_last end;
    end if;
    ids := kinfolk.sift(p_filter, v_set, v_limit + 1, v_look);
    if cardinality(ids) > v_limit then
        ids := ids[:v_limit];
        next := ids[v_limit];
    elsif v_set is null then
        next := kinfolk.look_end(p_filter, v_look);
    else
        next := v_last;
    end if;
end
$$;
