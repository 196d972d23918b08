-- attempt: keep how an attempt ended.
-- params: 1 task_id, 2 run, 3 attempt, 4 started_at, 5 ended_at, 6 worker, 7 ending, 8 failure
insert into attempt (task_id, run, attempt, started_at, ended_at, worker, ending, failure)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
