-- Tasks as people and programs see them: names instead of numbers, duplicates laid into the payload, the unique key
-- shown only while it is held (`any_key`: held now or before). The label of a task is what its payload has at `label_path`.

create or replace view kinfolk.tasks as
select
    t.id,
    c.name as command,
    q.name as queue,
    t.state::text as state,
    case t.gate when 'turn' then 'open' when 'family' then 'limit' else t.gate::text end as gate,
    t.priority,
    t.due,
    t.position,
    t.attempt,
    t.max_attempts,
    t.timeout_us * interval '1 microsecond' as timeout,
    case
        when t.unique_key is not null then kinfolk.payload_with_duplicates(t.id)
        else coalesce(t.payload, (select b.payload from kinfolk.body b where b.task_id = t.id))
    end as payload,
    t.result,
    t.failure,
    case when kinfolk.holds(t, kinfolk.clock()) then t.unique_key end as unique_key,
    t.created_at,
    t.started_at,
    t.finished_at,
    t.cancel_requested_at,
    t.worker_id as worker,
    t.suspect,
    t.strikes,
    t.trace,
    t.timeout_us,
    t.unique_key as any_key,
    t.runs,
    t.parent_id as parent,
    coalesce(t.root_id, t.id) as root,
    t.depth,
    t.outcome::text as outcome,
    t.steps,
    t.signals,
    t.report,
    t.keys,
    t.fan_out_id as fan_out,
    t.nth as index,
    case
        when t.runs > 0
        then coalesce((select a.started_at from kinfolk.attempt a where a.task_id = t.id and a.run = 1), t.started_at)
    end as first_started_at,
    coalesce(t.ran_us, 0) as ran_us,
    t.maker_id as made_by,
    t.follows_id as follows,
    c.label as label_path
from kinfolk.task t
join kinfolk.command c on c.id = t.command_id
join kinfolk.queue q on q.id = t.queue_id;
