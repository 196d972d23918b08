-- runs: tasks with more ended attempts than claims.
-- params: none
-- index:  attempt, by task
select task.id,
       count(*) || ' ended attempts and ' || task.runs || ' claims'
from attempt
join task on task.id = attempt.task_id
group by task.id
having count(*) > task.runs
    or max(attempt.run) > task.runs
