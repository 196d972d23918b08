-- Refuses a suspension that waits for nothing, or for fan-outs, a moment or signals that no store would keep.

create or replace function kinfolk.require_awaits(p_fans kinfolk.begun_fan_outs, p_awaits kinfolk.awaits) returns void
language plpgsql
as $$
declare
    v_fans integer := cardinality(p_fans.sizes);
    v_earlier integer := cardinality(p_awaits.fan_outs);
    v_signals integer := cardinality(p_awaits.signals);
begin
    if not (kinfolk.is_full(p_fans.sizes, v_fans) and kinfolk.is_full(p_fans.rules, v_fans)
        and kinfolk.is_full(p_fans.cancels, v_fans) and kinfolk.is_full(p_fans.wakes, v_fans)
        and kinfolk.is_full(p_awaits.fan_outs, v_earlier) and kinfolk.is_full(p_awaits.wakes, v_earlier)
        and kinfolk.is_full(p_awaits.signals, v_signals)
        and coalesce(cardinality(p_fans.parts) <= v_fans and cardinality(p_fans.timeouts_us) <= v_fans, false))
    then
        raise exception using errcode = 'KF001',
            message = 'what a suspension is given as arrays must be as many, and all there',
            hint = 'give sizes, rules, cancels and wakes of each fan-out, wakes of each earlier one; parts and timeouts_us may be short';
    elsif v_fans + v_earlier + v_signals = 0 and p_awaits.until is null then
        raise exception using errcode = 'KF001', message = 'a suspended task must wait for something';
    elsif not isfinite(p_awaits.until) then
        raise exception using errcode = 'KF001', message = 'a timer must end some day',
            hint = 'leave it out to wait for good';
    elsif v_signals > kinfolk.signals_awaited_max() then
        raise exception using errcode = 'KF001', message = format('%s signals awaited at once', v_signals),
            hint = format('await at most %s', kinfolk.signals_awaited_max());
    elsif 1 > any (p_fans.sizes) then
        raise exception using errcode = 'KF001', message = 'a fan-out without children has nothing to wait for';
    end if;
    if v_fans > 0 and exists (
        select
        from unnest(p_fans.rules, p_fans.parts, p_fans.timeouts_us) as g(rule, parts, timeout_us)
        where g.rule not in ('fail_fast', 'collect_all', 'threshold')
            or (g.rule = 'threshold') <> (g.parts is not null)
            or g.parts not between 0 and 1000000
            or g.timeout_us not between 0 and kinfolk.delay_max_us())
    then
        raise exception using errcode = 'KF001', message = 'the rule or the timeout of a fan-out is unknown or out of range',
            hint = 'there are: fail_fast, collect_all, and threshold with its parts of a million';
    end if;
    if v_signals > 0 then
        perform kinfolk.require_name('signal', n) from unnest(p_awaits.signals) n;
    end if;
end
$$;
