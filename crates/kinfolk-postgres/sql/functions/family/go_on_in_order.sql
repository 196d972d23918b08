-- Cancels the held children of the fan-outs `p_over`, and opens the next child of each of the fan-outs `p_idle`. The caller has locked
-- all of them. Returns the waiting owners whose last children were cancelled by that, null if there are none.
create or replace function kinfolk.go_on_in_order(p_over bigint[], p_idle bigint[], p_now timestamptz) returns bigint[]
language plpgsql volatile
as $$
declare
    v_fan_out bigint;
    v_owners bigint[];
begin
    foreach v_fan_out in array coalesce(p_over, '{}') loop
        if kinfolk.skip_rest(v_fan_out, p_now) then
            -- Only children that were spawned run in order: the fan-out has its owner's number.
            v_owners := v_owners || v_fan_out;
        end if;
    end loop;
    foreach v_fan_out in array coalesce(p_idle, '{}') loop
        perform kinfolk.open_next(v_fan_out, p_now);
    end loop;
    return v_owners;
end
$$;
