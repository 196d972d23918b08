-- minutes: the work in the minutes that began after a moment.
-- params: 1 moment
-- index:  the primary key
select minute,
       queue_id,
       command_id,
       started,
       waited,
       waited_max,
       completed,
       failed,
       retried,
       cancelled,
       suspended,
       ran,
       ran_max
from minute
where minute > ?1
