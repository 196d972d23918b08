-- Wakes workers, with the commit, on the queues of these commands, or on the queue given beside one.
create or replace function kinfolk.notify_commands(p_commands text[], p_queues text[]) returns void
language plpgsql volatile
as $$
declare
    v_queues integer[] := array(
        select distinct coalesce(q.id, c.queue_id)
        from (select distinct g.command, g.queue from unnest(p_commands, p_queues) as g(command, queue)) g
        join kinfolk.command c on c.name = g.command
        left join kinfolk.queue q on q.name = g.queue);
begin
    perform kinfolk.notify_queues(v_queues, false);
end
$$;
