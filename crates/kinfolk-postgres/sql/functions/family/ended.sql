-- Counts tasks that have just become terminal in their fan-outs, decides awaited fan-outs, and settles or resumes the waiting
-- parents whose last child this was, level by level up to the root. `p_fan_outs`, `p_nths`, `p_states`, `p_after`: for each
-- of those tasks its fan-out, its `nth`, its new state, and whether its gate was `after` until now. A null state only looks
-- at the fan-out.
--
-- The caller holds the family's lock and has locked all its own rows. Locks go upwards from here: the fan-outs of one depth
-- by number, then their waiting owners by number, then the next depth. New ends are counted only here, under the fan-out's
-- lock. The values that the update returns decide about the fan-out. A statement that begins after the owner's row is locked
-- decides about the owner, which may have several fan-outs. So two last children can't miss each other.

create or replace function kinfolk.ended(
    p_fan_outs bigint[], p_nths integer[], p_states kinfolk.state[], p_after boolean[], p_now timestamptz
) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
-- So that fan-outs are read, and locked, in the order of their numbers.
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    v_level kinfolk.new_ends;
    v_depth smallint;
    v_counted kinfolk.counted_fan_outs;
    v_joined kinfolk.ended_owners;
begin
    select e.* into v_level from kinfolk.first_level(p_fan_outs, p_states, p_after) e;
    while v_level.ids is not null loop
        v_depth := (select max(d) from unnest(v_level.depths) d);
        v_counted := kinfolk.count_ends(v_level, v_depth);
        if v_counted.is_awaited then
            perform kinfolk.append_ends(p_fan_outs, p_nths, v_depth);
        end if;
        if v_counted.decided is not null then
            perform kinfolk.decide_fan_outs(v_counted.decided, v_counted.verdicts, p_now);
        end if;
        if v_counted.over is not null or v_counted.idle is not null then
            v_counted.owners := v_counted.owners || kinfolk.go_on_in_order(v_counted.over, v_counted.idle, p_now);
        end if;
        v_joined := null;
        if v_counted.owners is not null then
            v_joined := kinfolk.settle_owners(v_counted.owners);
        elsif v_depth = (select min(d) from unnest(v_level.depths) d) then
            exit;
        end if;
        select e.* into v_level from kinfolk.next_level(v_level, v_depth, v_joined) e;
        p_fan_outs := p_fan_outs || v_joined.fan_outs;
        p_nths := p_nths || v_joined.nths;
    end loop;
end
$$;
