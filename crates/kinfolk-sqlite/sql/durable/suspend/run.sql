-- run: keep that a run ended in a suspension, and what for.
-- params: 1 task_id, 2 run, 3 attempt, 4 started_at, 5 ended_at, 6 worker, 7 awaited, 8 until, 9 signals
-- index:  by task and run
insert into attempt (task_id, run, attempt, started_at, ended_at, worker, ending, awaited, until, signals)
values (?1, ?2, ?3, ?4, ?5, ?6, 'suspended', ?7, ?8, ?9)
