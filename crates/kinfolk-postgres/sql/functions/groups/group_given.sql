-- One group as people write it, in the form of the engine: a number is its limit; a rate may give its span as an interval,
-- `per`, and has a burst of 1 by default.
create or replace function kinfolk.group_given(p_spec jsonb) returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_strange text;
    v_per bigint;
begin
    if jsonb_typeof(p_spec) = 'number' then
        p_spec := jsonb_build_object('limit', p_spec);
    elsif jsonb_typeof(p_spec) <> 'object' then
        raise exception using errcode = 'KF001', message = format('a group of %s', left(p_spec::text, 60)),
            hint = 'give its limit, or an object';
    end if;
    select k.name
    into v_strange
    from (
        select jsonb_object_keys(p_spec) as name
        union all
        select 'rate.' || jsonb_object_keys(case when jsonb_typeof(p_spec -> 'rate') = 'object' then p_spec -> 'rate' end)
    ) k
    where k.name <> all ('{limit,rate,hold,shared,rate.count,rate.per,rate.per_us,rate.burst}')
    limit 1;
    if found then
        raise exception using errcode = 'KF001', message = format('unknown key %L in a group', v_strange),
            hint = 'there are limit, rate (count, per, burst), hold and shared';
    end if;
    if jsonb_typeof(p_spec #> '{rate,per}') is not null then
        begin
            v_per := kinfolk.micros((p_spec #>> '{rate,per}')::interval);
        exception
            when data_exception then
                raise exception using errcode = 'KF001', message = format('a rate per %s', p_spec #> '{rate,per}'),
                    hint = 'write the span as in 1 second';
        end;
    end if;
    return jsonb_build_object('limit', p_spec -> 'limit', 'hold', coalesce(p_spec -> 'hold', 'false'),
        'shared', coalesce(p_spec -> 'shared', 'false'), 'rate', case
            when jsonb_typeof(p_spec -> 'rate') = 'object' then jsonb_build_object('count', p_spec #> '{rate,count}',
                'per_us', coalesce(p_spec #> '{rate,per_us}', to_jsonb(v_per)),
                'burst', coalesce(p_spec #> '{rate,burst}', '1'))
        end);
end
$$;
