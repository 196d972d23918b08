-- Opens the tasks behind the keys of a group, of one command or of all. Locks the tasks by number.
create or replace function kinfolk.open_blocked(p_group integer, p_command integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_blocked bigint[] := array(
        select t.id
        from kinfolk.task t
        where t.blocked_group = p_group
            and t.gate = 'limit'
            and (p_command is null or t.command_id = p_command)
        order by t.id
        for update);
    v_queues integer[];
begin
    with opened as (
        update kinfolk.task t
        set
            gate = 'open',
            blocked_group = null,
            blocked_key = null
        from unnest(v_blocked) as g(id)
        where t.id = g.id
        returning t.queue_id
    )
    select array_agg(distinct o.queue_id) into v_queues from opened o;
    if v_queues is not null then
        perform kinfolk.notify_queues(v_queues, false);
    end if;
end
$$;
