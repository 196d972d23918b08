-- The end of a claim with keys: reserves room for starved candidates, and looks again at the ready keys that the claim saw and at the
-- keys behind which it blocked tasks. The caller has the admission locks. Runs under the settings of the claim.
create or replace function kinfolk.end_admission(
    p_queue integer, p_commands integer[], p_admission kinfolk.claim_admission, p_ready kinfolk.claim_ready, p_now timestamptz
) returns void
language plpgsql volatile
as $$
begin
    if p_admission.starved <> '{}' then
        perform kinfolk.reserve(b) from unnest(p_admission.starved) b;
    end if;
    if p_ready.keys is not null or p_admission.behind_keys <> '{}' then
        perform kinfolk.update_ready_keys(p_queue, p_commands, p_ready.groups || p_admission.behind_groups,
            p_ready.keys || p_admission.behind_keys, p_now);
    end if;
end
$$;
