-- Locks the unique keys of follow-ups until the transaction ends, before any row. Of two follow-ups that are made at once
-- under one key, the second joins the first. There are 256 such locks for all keys.
create or replace function kinfolk.lock_follow_up_keys(p_commands text[], p_keys text[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform pg_advisory_xact_lock(1263160906, l.key)
    from (
        select distinct hashtext(g.command || ' ' || g.key) & 255 as key
        from unnest(p_commands, p_keys) as g(command, key)
        where g.key is not null
        order by 1
    ) l;
end
$$;

-- The same for those that are follow-ups among what a handler made, given by its kinds.
create or replace function kinfolk.lock_follow_up_keys(p_kinds text[], p_commands text[], p_keys text[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_from integer := array_position(p_kinds, 'follow_up');
    v_to integer := coalesce(array_position(p_kinds, 'task'), cardinality(p_kinds) + 1) - 1;
begin
    if v_from is not null then
        perform kinfolk.lock_follow_up_keys(p_commands[v_from:v_to], p_keys[v_from:v_to]);
    end if;
end
$$;
