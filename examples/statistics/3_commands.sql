-- The commands and the functions that handle them; registering them makes their queues.

select kinfolk.register_command('import', 'import', handler => 'stats.import');
select kinfolk.register_command('cleanup', 'maintenance', handler => 'stats.cleanup');

select kinfolk.register_command(name, 'analytics', handler => 'stats.' || name, before => 'stats.note_begin',
    after => 'stats.note_end', statement_timeout => '1 hour')
from unnest(array['derive', 'derive_batch', 'flush', 'analyze', 'report']) as name;

-- Three queues that never wait for each other. Each works on one family at a time: top-level tasks run strictly one after
-- another, whatever the number of workers. Only analytics takes children, three of them at once, and no grandchildren.

select kinfolk.set_limits('import', family_limit => 1, child_limit => 0);
select kinfolk.set_limits('analytics', family_limit => 1, child_limit => 3, depth_limit => 1);
select kinfolk.set_limits('maintenance', family_limit => 1, child_limit => 0);

-- A front end may ask, or listen to the channel kinfolk_status: is anything being derived?
select kinfolk.put_status('deriving', array['derive', 'derive_batch', 'flush', 'analyze', 'report']);
