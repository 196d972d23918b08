-- The children that one task made, together, and how they are doing. The children that a task spawned are the fan-out of its
-- own number; those that its handler awaits have numbers of their own, from the same sequence.
--
-- `depth` is that of the owner, `task_id`. `waits`: the owner's own work is over, and it is to be settled with the last child.
-- `held`: how many children pend behind the gate `after`. The counts change only under the row's lock: in the transaction that
-- ends the child, makes it, sets it going again or removes it.
--
-- Only where the owner's handler awaits it: `rule` and `parts` (of a million) say when it is settled, `verdict` how it was and
-- `settled_at` when, `decided_at` how many children had ended then, `decided_step` how many steps the owner had recorded. `wake_at`: a suspended
-- owner is resumed when so many have ended; what stands here while the owner is not suspended means nothing.

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
    held integer not null default 0,
    rule text,
    parts integer,
    verdict text,
    decided_at integer,
    decided_step integer,
    wake_at integer,
    deadline timestamptz,
    cancel_on_failure boolean not null default false,
    created_at timestamptz,
    settled_at timestamptz
) with (fillfactor = 50);

create index fan_out_task on kinfolk.fan_out (task_id);

create index fan_out_root on kinfolk.fan_out (root_id);

-- The order in which the children of an awaited fan-out ended, by `nth`: one row for each call that ended some of them, written
-- under the fan-out's lock. `first`: how many had ended before.
create table kinfolk.ended_page (
    fan_out_id bigint not null,
    first integer not null,
    nths integer[] not null,
    primary key (fan_out_id, first)
);
