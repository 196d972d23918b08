-- all: the reservations.
-- params: none
-- index:  the whole table: a row for each group at most
select group_id,
       key,
       task_id
from reserved
