-- Decides over the candidates of a claim, page by page. The first page is as large as the claim, and the more candidates are blocked,
-- the larger the next. So blocking many costs few pages. `more`: the claim has blocked so many that it ends here, and there may be more
-- behind them. `left_out`: another call had locked a needed row.
--
-- The caller has the admission locks. Locks tasks, never waiting. Runs under the settings of the claim.
create or replace function kinfolk.admit_pages(
    p_scope kinfolk.claim_scope, p_commands integer[], p_admission kinfolk.claim_admission, p_ready kinfolk.claim_ready,
    p_lanes kinfolk.lane[], p_now timestamptz
) returns kinfolk.claim_admission
language plpgsql volatile
as $$
declare
    v_is_merged boolean := p_ready.keys is not null or p_ready.has_reserved or p_scope.low_id <> '{}' or cardinality(p_lanes) > 1
        or cardinality(p_commands) > 1;
    v_behind kinfolk.stand := row(-2147483648, '-infinity', 0)::kinfolk.stand;
    v_size integer := p_admission.most;
    v_slack integer := 8;
    v_taken integer;
    v_page kinfolk.claim_page;
begin
    while p_admission.most > 0 loop
        if v_is_merged or p_admission.may_suspect then
            v_page := kinfolk.line_up(p_scope, p_admission, p_ready, p_lanes, v_behind, v_size, v_slack, p_now);
            v_slack := least(4 * v_slack, 10000);
        else
            v_page := kinfolk.one_line(p_scope.queue_id, p_lanes[1], p_commands[1], v_behind, v_size);
        end if;
        p_admission.left_out := p_admission.left_out or v_page.left_out;
        v_taken := 0;
        if v_page.ids is null then
            exit when v_page.is_last or v_page.last is null;
            -- All of them are in other hands: go on behind them.
            p_admission.last := v_page.last;
        else
            -- point: claim.lined_up
            v_taken := p_admission.most;
            p_admission := kinfolk.admit_page(p_admission, v_page, p_scope.limited or v_page.suspects, p_now);
            v_taken := v_taken - p_admission.most;
            exit when v_page.is_last and p_admission.is_whole;
            p_admission.more := cardinality(p_admission.behind_groups) >= 2 * kinfolk.claim_batch_max();
            exit when p_admission.more;
        end if;
        select t.priority, t.position, t.id
        into v_behind.priority, v_behind.position, v_behind.id
        from kinfolk.task t
        where t.id = p_admission.last;
        v_size := kinfolk.next_size(v_size, p_admission.most, v_taken);
    end loop;
    return p_admission;
end
$$;
