-- Refuses a whole settle call if any of its items is one that no store would keep.

create or replace function kinfolk.require_settles(
    p_ids bigint[], p_tokens uuid[], p_outcomes text[], p_results jsonb[], p_failures jsonb[], p_delays_us bigint[]
) returns void
language plpgsql
as $$
begin
    if num_nulls(p_ids, p_tokens, p_outcomes) > 0 then
        raise exception using errcode = 'KF001', message = 'p_ids, p_tokens or p_outcomes is null',
            hint = 'give the number of each task, the token of its claim and how it ended';
    end if;
    if cardinality(p_ids) > kinfolk.settle_batch_max() then
        raise exception using errcode = 'KF001', message = format('%s settles in one call', cardinality(p_ids)),
            hint = format('send at most %s at once', kinfolk.settle_batch_max());
    end if;
    if cardinality(p_tokens) is distinct from cardinality(p_ids)
        or cardinality(p_outcomes) is distinct from cardinality(p_ids)
    then
        raise exception using errcode = 'KF001', message = 'numbers, tokens and outcomes must be as many';
    end if;
    if array_position(p_ids, null) is not null or array_position(p_tokens, null) is not null
        or array_position(p_outcomes, null) is not null
    then
        raise exception using errcode = 'KF001', message = 'a number, a token or an outcome is null',
            hint = 'give the number of each task, the token of its claim and how it ended';
    end if;
    -- Most calls bring nothing but completions, without results.
    if ('done' = all (p_outcomes) and cardinality(p_results) + cardinality(p_delays_us) = 0) is not true then
        perform kinfolk.require_outcomes(p_outcomes, p_results, p_failures, p_delays_us);
    end if;
end
$$;
