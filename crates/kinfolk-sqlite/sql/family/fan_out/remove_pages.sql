-- remove_pages: forget the order in which the children of a fan-out have ended.
-- params: 1 fan_out_id
-- index:  by fan-out and ordinal
delete from ended_page
where fan_out_id = ?1
