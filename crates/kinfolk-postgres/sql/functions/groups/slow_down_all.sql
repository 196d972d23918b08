-- Writes the slow-downs of an attempt. Skips a group that is gone. Locks the groups in their order: only the settle of the
-- attempt comes after this.
create or replace function kinfolk.slow_down_all(p_task bigint, p_token uuid, p_moments jsonb) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    if num_nulls(p_task, p_token, p_moments) > 0 then
        raise exception using errcode = 'KF001', message = 'p_task, p_token or p_moments is null',
            hint = 'give the number of the task, the token of its claim and moments by group';
    end if;
    perform kinfolk.lock_groups(array(
        select cg.group_id
        from kinfolk.task t
        join kinfolk.command_group cg on cg.command_id = t.command_id
        where t.id = p_task
            and p_moments ? cg.name));
    perform kinfolk.slow_down(p_task, p_token, m.name, m.until::timestamptz)
    from jsonb_each_text(p_moments) as m(name, until);
exception
    when data_exception then
        raise exception using errcode = 'KF001', message = format('p_moments is %s', left(p_moments::text, 60)),
            hint = 'it must be an object of moments by group';
end
$$;
