-- Starts those candidates of a page that `admit_one_by_one` has taken, up to the rank `p_cut`; nothing is decided of the others.
-- Removes their reservations.
--
-- The caller has the admission locks. Writes pages, `spent` and `reserved`. Runs under the settings of the claim.
create or replace function kinfolk.start_taken(
    p_admission kinfolk.claim_admission, p_page kinfolk.claim_page, p_needs kinfolk.claim_needs, p_is_rated boolean, p_ranks integer[],
    p_is_taken boolean[], p_cut integer, p_now timestamptz
) returns kinfolk.claim_admission
language plpgsql volatile
as $$
declare
    v_is_taken boolean[];
    v_taken bigint[];
begin
    select array_agg(c.is_taken order by c.nth), coalesce(array_agg(c.id order by c.nth) filter (where c.is_taken), '{}'),
        (array_agg(c.id order by c.nth desc))[1]
    into v_is_taken, v_taken, p_admission.last
    from unnest(p_page.ids, p_ranks, p_is_taken) with ordinality as c(id, rank, is_taken, nth)
    where c.rank <= p_cut;
    p_admission.is_whole := p_admission.last = p_page.ids[cardinality(p_page.ids)];
    p_admission.ids := p_admission.ids || v_taken;
    p_admission.most := p_admission.most - cardinality(v_taken);
    perform kinfolk.start_needs(p_needs, v_is_taken, p_is_rated, p_now);
    delete from kinfolk.reserved r
    where r.task_id = any (v_taken);
    return p_admission;
end
$$;
