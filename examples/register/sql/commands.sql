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
