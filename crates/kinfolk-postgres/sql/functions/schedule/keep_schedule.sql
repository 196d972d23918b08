-- Keeps a schedule: makes it, or changes the one of its name, and leaves what that one fired before. Answers it as it is then, or
-- nothing when its command is unknown. Locks the schedule.

create or replace function kinfolk.keep_schedule(p_new kinfolk.schedule) returns setof kinfolk.schedule
language sql volatile
as $$
    insert into kinfolk.schedule as s
    select (p_new).*
    where exists (select from kinfolk.command c where c.name = (p_new).command)
    on conflict (name) do update set
        cron = excluded.cron,
        zone = excluded.zone,
        missed = excluded.missed,
        overlap = excluded.overlap,
        paused = excluded.paused,
        -- Never back to a tick that was fired while the caller was looking at the clock.
        next_at = case when excluded.next_at <= s.last_at then s.next_at else excluded.next_at end,
        command = excluded.command,
        payload = excluded.payload,
        queue = excluded.queue,
        priority = excluded.priority,
        due = excluded.due,
        delay_us = excluded.delay_us,
        unique_key = excluded.unique_key,
        unique_scope = excluded.unique_scope,
        unique_window_us = excluded.unique_window_us,
        on_duplicate = excluded.on_duplicate,
        max_attempts = excluded.max_attempts,
        timeout_us = excluded.timeout_us,
        trace = excluded.trace,
        keys = excluded.keys
    returning s.*
$$;
