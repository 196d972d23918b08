-- The content of the detail of an error that a handler raised, if the code is one of the engine's own whose detail is an object:
-- `told` is that object. For any other error all are null. A handler may raise any code with any detail, so a detail that the engine
-- would not have written makes an error like any other. Of KF012 (`require_done`) it is the `failure` that was not kept, of KF020 to
-- KF023 (`end_handler`) the span and what is to be slowed down until when, of KF025 (`refuse_fan_out`) the kind of the failure. Locks
-- nothing.
create or replace function kinfolk.told_by(
    p_code text, p_detail text, out told jsonb, out failure jsonb, out delay_us bigint, out slow_down jsonb
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_code not in ('KF012', 'KF020', 'KF021', 'KF022', 'KF023', 'KF025') then
        return;
    end if;
    told := p_detail::jsonb;
    if p_code = 'KF012' then
        failure := nullif(told -> 'failure', 'null');
        perform kinfolk.require_outcomes('{failed}', '{}', array[failure], '{}') where failure is not null;
    elsif p_code = 'KF025' then
        told := case when told ->> 'kind' in ('children', 'error') then told end;
    else
        delay_us := (told ->> 'delay_us')::bigint;
        perform kinfolk.require_outcomes('{snooze}', '{}', '{}', array[delay_us]);
        select jsonb_object_agg(m.name, m.until::timestamptz)
        into slow_down
        from jsonb_each_text(told -> 'slow_down') as m(name, until)
        where m.until is not null;
    end if;
exception
    when others then
        select null, null, null, null into told, failure, delay_us, slow_down;
end
$$;
