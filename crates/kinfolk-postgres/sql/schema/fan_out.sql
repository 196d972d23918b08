-- The children that one task made, together, and how they are doing. A task's own children are the fan-out of its number.
--
-- `depth` is that of the owner, `task_id`. `waits`: the owner is waiting, and is to be settled with the last child.
-- `held`: how many children pend behind the gate `after`. The counts change only under the row's lock, in the transaction
-- that ends the child.

create table kinfolk.fan_out (
    id bigint primary key,
    task_id bigint not null,
    root_id bigint not null,
    depth smallint not null,
    child_order kinfolk.child_order not null,
    waits boolean not null,
    total integer not null,
    completed integer not null default 0,
    failed integer not null default 0,
    cancelled integer not null default 0,
    held integer not null default 0
) with (fillfactor = 50);

create index fan_out_task on kinfolk.fan_out (task_id);

create index fan_out_root on kinfolk.fan_out (root_id);
