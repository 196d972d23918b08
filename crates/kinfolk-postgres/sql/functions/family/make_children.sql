-- Makes children of a task in a fan-out, numbers `p_from` to `p_to` of the made tasks, and returns how many were made. A
-- child under a unique key that another task holds is not made. `p_first`: the `nth` of the first child. `p_held_from`:
-- children from this `nth` on wait for their turn; null: none does.
--
-- Locks no existing row. One statement inserts all children without a unique key.

create or replace function kinfolk.make_children(
    p_maker kinfolk.maker, p_fan_out bigint, p_first integer, p_held_from integer, p_from integer, p_to integer,
    p_made kinfolk.made
) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_nths integer[];
begin
    if exists (select from unnest(p_made.keys[p_from:p_to]) k where k is not null) then
        v_nths := kinfolk.make_unique_children(p_maker, p_fan_out, p_first, p_held_from, p_from, p_to, p_made);
    else
        v_nths := array(select generate_series(p_first, p_first + p_to - p_from));
    end if;
    perform kinfolk.insert_children(p_maker, array_fill(p_fan_out, array[p_to - p_from + 1]), v_nths, p_held_from, p_from, p_made);
    return (select count(n) from unnest(v_nths) n);
end
$$;
