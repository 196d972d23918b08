-- The end of a claim with keys: reserves room for starved candidates, and looks again at the keys behind which it blocked tasks, and
-- at those whose ready waiters it saw. The caller has the admission locks. Runs under the settings of the claim.
create or replace function kinfolk.end_admission(
    p_queue integer, p_admission kinfolk.claim_admission, p_now timestamptz
) returns void
language plpgsql volatile
as $$
begin
    if p_admission.starved <> '{}' then
        perform kinfolk.reserve(b) from unnest(p_admission.starved) b;
    end if;
    if p_admission.ready_keys <> '{}' or p_admission.behind_keys <> '{}' then
        perform kinfolk.open_waiters(p_admission.ready_groups || p_admission.behind_groups,
            p_admission.ready_keys || p_admission.behind_keys, p_queue, 0, p_admission.ids, p_now);
    end if;
end
$$;
