-- The words of a task's life. Their order is the order of that life.

create type kinfolk.state as enum ('pending', 'running', 'waiting', 'completed', 'failed', 'cancelled');

-- Why a pending task may be taken or not. Two gates are finer than what people see: `turn`, it waits for its turn on a queue with a
-- fair key, is shown as `open`; `family`, its family waits to be let in by its queue, is shown as `limit`. So `limit` itself means
-- that it waits behind a key.
create type kinfolk.gate as enum ('open', 'time', 'limit', 'after', 'turn', 'family');

-- How long a unique key is held. A task that has given its key up has none.
create type kinfolk.unique_scope as enum ('pending', 'active', 'window');

create type kinfolk.on_duplicate as enum ('keep', 'replace', 'merge');

-- Which line a task stands in: children; roots whose family is at work, where a queue limits those; all other roots.
create type kinfolk.lane as enum ('child', 'root', 'top');

-- A line that a claim on a queue with a fair key reads by itself: the tasks of one command in one lane, suspects or
-- not.
create type kinfolk.line as (command_id integer, lane kinfolk.lane, suspect boolean);

create type kinfolk.child_order as enum ('together', 'in_order', 'in_order_until_failure');
