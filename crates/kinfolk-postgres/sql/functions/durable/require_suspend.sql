-- Refuses a whole suspension if it is one that no store would keep: nobody would ever resume it.
create or replace function kinfolk.require_suspend(
    p_sizes integer[], p_kinds text[], p_commands text[], p_keys text[], p_rules text[], p_parts integer[],
    p_timeouts_us bigint[], p_cancels boolean[], p_fan_wakes integer[], p_awaits bigint[], p_wakes integer[],
    p_until timestamptz, p_signals text[]
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_fans integer := cardinality(p_sizes);
    v_children bigint := (select coalesce(sum(s), 0) from unnest(p_sizes) s);
begin
    if not (kinfolk.is_full(p_sizes, v_fans) and kinfolk.is_full(p_rules, v_fans) and kinfolk.is_full(p_cancels, v_fans)
        and kinfolk.is_full(p_fan_wakes, v_fans) and kinfolk.is_full(p_awaits, cardinality(p_awaits))
        and kinfolk.is_full(p_wakes, cardinality(p_awaits)) and kinfolk.is_full(p_signals, cardinality(p_signals))
        and kinfolk.is_full(p_kinds, cardinality(p_kinds)) and kinfolk.is_full(p_commands, cardinality(p_commands))
        and coalesce(cardinality(p_parts) <= v_fans and cardinality(p_timeouts_us) <= v_fans, false))
    then
        raise exception using errcode = 'KF001',
            message = 'what a suspension is given as arrays must be as many, and all there';
    elsif v_fans + cardinality(p_awaits) + cardinality(p_signals) = 0 and p_until is null then
        raise exception using errcode = 'KF001', message = 'a suspended task must wait for something';
    elsif not isfinite(p_until) then
        raise exception using errcode = 'KF001', message = 'a timer must end some day',
            hint = 'leave it out to wait for good';
    elsif cardinality(p_signals) > kinfolk.signals_awaited_max() then
        raise exception using errcode = 'KF001', message = format('%s signals awaited at once', cardinality(p_signals)),
            hint = format('await at most %s', kinfolk.signals_awaited_max());
    elsif 1 > any (p_sizes) then
        raise exception using errcode = 'KF001', message = 'a fan-out without children has nothing to wait for';
    elsif cardinality(p_kinds) + v_children <> cardinality(p_commands) then
        raise exception using errcode = 'KF001', message = 'there must be as many tasks as kinds and children of fan-outs';
    elsif cardinality(p_keys) > 0 and exists (select from unnest(p_keys[cardinality(p_kinds) + 1:]) k where k is not null) then
        raise exception using errcode = 'KF001', message = 'a child whose result is awaited can''t have a unique key';
    end if;
    if v_fans > 0 and exists (
        select
        from unnest(p_rules, p_parts, p_timeouts_us) as g(rule, parts, timeout_us)
        where g.rule not in ('fail_fast', 'collect_all', 'threshold')
            or (g.rule = 'threshold') <> (g.parts is not null)
            or g.parts not between 0 and 1000000
            or g.timeout_us not between 0 and kinfolk.delay_max_us())
    then
        raise exception using errcode = 'KF001', message = 'the rule or the timeout of a fan-out is unknown or out of range',
            hint = 'there are: fail_fast, collect_all, and threshold with its parts of a million';
    end if;
    if cardinality(p_signals) > 0 then
        perform kinfolk.require_name('signal', n) from unnest(p_signals) n;
    end if;
end
$$;
