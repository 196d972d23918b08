-- The tasks that match a filter, wherever its page begins, up to `look_max`. `more`: there may be more. Where no set of candidates
-- is small enough, twice as many tasks are looked at. Reads what `candidates` and `sift` read.

create or replace function kinfolk.matching(p_filter jsonb, out ids bigint[], out more boolean)
language plpgsql stable
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
    v_set := kinfolk.candidates(v_filter);
    if v_set is null and (p_filter ->> 'has_children')::boolean then
        v_set := kinfolk.parents_in(v_filter, 2 * v_look);
        more := cardinality(v_set) = 2 * v_look;
    end if;
    ids := kinfolk.sift(v_filter, v_set, v_look + 1, 2 * v_look);
    if cardinality(ids) <= v_look and v_set is null then
        more := kinfolk.look_end(v_filter, 2 * v_look) is not null;
    end if;
    more := cardinality(ids) > v_look or coalesce(more, false);
    ids := ids[:v_look];
end
$$;
