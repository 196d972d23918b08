-- A test of the pipeline, in one transaction that leaves nothing behind. A call of process_tasks runs what could be run
-- when it began; what that makes is for the next call.

begin;

insert into stats.enterprise (id, region, employees)
select n, 'north', n
from generate_series(1, 250) n;

do $$
begin
    assert (select count(*) = 1 from kinfolk.tasks where command = 'derive'), 'many changes are one task';
    assert (select payload = '{"regions": {"north": true}}' from kinfolk.tasks where command = 'derive');
end
$$;

-- The parent runs, and leaves three batches behind.
call kinfolk.process_tasks(queue => 'analytics');

do $$
begin
    assert (select state = 'waiting' from kinfolk.tasks where command = 'derive'), 'the parent waits for its children';
    assert (select count(*) = 3 and every(state = 'pending') from kinfolk.tasks where command = 'derive_batch');
    assert (select every(state = 'pending' and gate = 'after') from kinfolk.tasks where command in ('flush', 'analyze', 'report')),
        'what follows up waits for the whole family';
end
$$;

-- The children run, and with the last of them the parent is done.
call kinfolk.process_tasks(queue => 'analytics');

do $$
begin
    assert (select state = 'completed' from kinfolk.tasks where command = 'derive'), 'the parent is done with its last child';
    assert (select count(*) = 250 from stats.staged);
    assert (select count(*) = 0 from stats.unit), 'nothing is published yet';
end
$$;

-- The rest, until nothing is left.
call kinfolk.process_tasks(queue => 'analytics', until_idle => true);

do $$
begin
    assert (select count(*) = 0 from stats.staged);
    assert (select count(*) = 250 from stats.unit);
    assert (select sum(units) = 250 from stats.report);
    assert (select array_agg(command order by began) = '{derive,derive_batch,derive_batch,derive_batch,flush,analyze,report}'
        from stats.log);
end
$$;

rollback;
