-- Opens the gate of one page of the due tasks of a queue; suspended tasks whose time has come pend again. Answers whether any of them
-- has a command that is not in `p_commands`. Locks these tasks, and skips tasks that another call has locked. Reads `task_due`.

create or replace function kinfolk.open_due(p_queue integer, p_commands text[], p_now timestamptz) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_for_others boolean;
begin
    with due as materialized (
        select t.id
        from kinfolk.task t
        where t.queue_id = p_queue
            and t.gate = 'time'
            and t.due <= p_now
        order by t.due, t.id
        limit kinfolk.sweep_page()
        for update skip locked
    ),
    opened as (
        update kinfolk.task t
        set
            state = 'pending',
            gate = 'open',
            signals = null
        from due
        where t.id = due.id
        returning t.command_id
    )
    select bool_or(c.name <> all (p_commands))
    into v_for_others
    from (select distinct o.command_id from opened o) o
    join kinfolk.command c on c.id = o.command_id;
    return coalesce(v_for_others, false);
end
$$;
