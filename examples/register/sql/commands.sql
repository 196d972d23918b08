-- The sixteen commands, the functions that handle them, and three queues that never wait for each other. Each queue works on one family at a
-- time, so top-level tasks run strictly one after another; only analytics takes children, three of them at once.

select kinfolk.register_command(c.name, c.queue, handler => 'register.' || c.name, max_attempts => 3, backoff_base => '1 second')
from (values
    ('collect_changes', 'analytics'),
    ('derive_statistical_unit', 'analytics'),
    ('statistical_unit_refresh_batch', 'analytics'),
    ('derive_statistical_unit_continue', 'analytics'),
    ('statistical_unit_flush_staging', 'analytics'),
    ('derive_reports', 'analytics'),
    ('derive_statistical_history', 'analytics'),
    ('derive_statistical_history_period', 'analytics'),
    ('derive_statistical_unit_facet', 'analytics'),
    ('derive_statistical_unit_facet_partition', 'analytics'),
    ('statistical_unit_facet_reduce', 'analytics'),
    ('derive_statistical_history_facet', 'analytics'),
    ('derive_statistical_history_facet_period', 'analytics'),
    ('import_job_process', 'import'),
    ('task_cleanup', 'maintenance'),
    ('import_job_cleanup', 'maintenance')
) as c(name, queue);

select kinfolk.set_limits('analytics', family_limit => 1, child_limit => 3, depth_limit => 1);
select kinfolk.set_limits('import', family_limit => 1, child_limit => 0);
select kinfolk.set_limits('maintenance', family_limit => 1, child_limit => 0);

-- Every night at three and at half past three.
select kinfolk.put_schedule(p_name => s.command, p_cron => s.cron, p_zone => 'UTC', p_missed => 'once', p_overlap => 'skip', p_paused => false,
    p_next_at => (date_trunc('day', now() at time zone 'UTC') + interval '1 day' + s.first) at time zone 'UTC',
    p_task => jsonb_populate_record(null::kinfolk.given_task, jsonb_build_object('command', s.command, 'payload', '{}'::jsonb)))
from (values ('task_cleanup', '0 3 * * *', interval '3 hours'), ('import_job_cleanup', '30 3 * * *', interval '3 hours 30 minutes'))
    as s(command, cron, first);
