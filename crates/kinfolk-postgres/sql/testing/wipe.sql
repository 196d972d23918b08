-- Empties the store, for the next test. Rows are deleted, which is quicker than to truncate when there are few.

delete from kinfolk.reserved;
delete from kinfolk.spent;
delete from kinfolk.ready_key;
delete from kinfolk.freed;
delete from kinfolk.slot;
delete from kinfolk.slot_setting;
delete from kinfolk.command_group;
delete from kinfolk.slot_group;
delete from kinfolk.intent;
delete from kinfolk.status;
delete from kinfolk.follow_up;
delete from kinfolk.ended_page;
delete from kinfolk.checkpoint;
delete from kinfolk.signal;
delete from kinfolk.fan_out;
delete from kinfolk.schedule;
delete from kinfolk.late;
delete from kinfolk.duplicate;
delete from kinfolk.attempt;
delete from kinfolk.body;
delete from kinfolk.task;
delete from kinfolk.worker_queue;
delete from kinfolk.worker;
delete from kinfolk.command;
delete from kinfolk.queue;
update kinfolk.test_clock set server_started_at = '-infinity';
